"""Which broker coordinates what, and who says so: the group hash, assignment.json, the view that every component asks."""
