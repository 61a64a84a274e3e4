"""Bytes and what they mean: frames, headers, messages, record batches, and the table of APIs this broker serves.

Nothing here waits, opens a socket or knows a group. Message schemas and the native reader come from kio; the writer is ours,
because kio's is the slow half (it walks each message field by field).
"""
