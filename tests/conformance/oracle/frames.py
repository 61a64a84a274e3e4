"""Raw frames: what a client library would never send.

c.send_raw(head(METADATA, 1, 9) + body)       -> decoded("Metadata", 1, c.recv_raw())
closes(frame(head(999, 0)))                   -> asserts that the broker closes that connection, and no other (a fixture)
"""

import struct

from tests.conformance.oracle.wire import entity, reader

METADATA, LIST_GROUPS, API_VERSIONS, FIND_COORDINATOR = 3, 16, 18, 10


def frame(payload):
    return struct.pack(">i", len(payload)) + payload


def head(key, version, correlation=1, client=b"oracle", flexible=False):
    name = struct.pack(">h", -1) if client is None else struct.pack(">h", len(client)) + client
    return struct.pack(">hhi", key, version, correlation) + name + b"\0" * flexible


def decoded(api, version, payload, at=4):
    """A raw answer, read to its last byte."""
    value, used = reader(entity(api, version, "response"))(payload, at)
    assert used == len(payload) - at, (used, payload)
    return value
