"""Jobs: work on many groups, planned first, then done step by step with progress and cancel."""
