"""Writes on committed offsets: reset plans, armed resets, deletion, undo. Each asks the guard and leaves an audit row."""
