"""Committed offsets: lag per partition, reset plans, undo, records around the commit. Knows groups, never the reverse."""
