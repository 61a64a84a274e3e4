"""Bytes of records as people read them: text, JSON, hexadecimal digits, and what a schema registry knows how to read."""
