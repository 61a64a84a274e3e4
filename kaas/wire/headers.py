"""The head of a request, and the head of an answer.

Job: key, version, correlation id and client id out of a payload; size and correlation id in front of an answer.
Rules: request headers of flexible versions end in a tag section, whose tags are skipped; the client id is never compact.
An ApiVersions answer has a version 0 header whatever its version (KIP-511), so that a client can read it before it knows
the broker. Anything unreadable is `BadHeader` and ends the connection.
Must not know: which APIs are served.
Source: Kafka protocol guide; KIP-482; PROTOCOL notes on ApiVersions in docs/PROTOCOL.md.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from kaas.wire.varint import read_uvarint

FIXED = struct.Struct(">hhih")
ANSWER = struct.Struct(">ii")
ANSWER_FLEXIBLE = struct.Struct(">iib")
API_VERSIONS = 18


class BadHeader(Exception):
    """The first bytes of a payload are no request header."""


class RequestHeader(NamedTuple):
    """`body_at` is where the body begins in the payload."""

    key: int
    version: int
    correlation_id: int
    client_id: str | None
    body_at: int


def read_head(payload: bytes) -> tuple[int, int, int, str | None, int]:
    """Key, version, correlation id, client id, and where the fixed head ends. Raises BadHeader."""
    try:
        key, version, correlation_id, size = FIXED.unpack_from(payload)
        at = FIXED.size
        if size < 0:
            if size != -1:
                raise BadHeader(f"a client id of {size} bytes")
            return key, version, correlation_id, None, at
        end = at + size
        if end > len(payload):
            raise BadHeader(f"a client id of {size} bytes in a request of {len(payload)}")
        return key, version, correlation_id, payload[at:end].decode(), end
    except (struct.error, UnicodeDecodeError) as problem:
        raise BadHeader(str(problem)) from None


def skip_tags(payload: bytes, at: int) -> int:
    """Where the tag section that begins here ends. Raises BadHeader."""
    if at < len(payload) and payload[at] == 0:
        return at + 1
    try:
        count, at = read_uvarint(payload, at)
        for _ in range(count):
            _, at = read_uvarint(payload, at)
            size, at = read_uvarint(payload, at)
            at += size
            if at > len(payload):
                raise BadHeader("a tag that is longer than its request")
    except ValueError as problem:
        raise BadHeader(str(problem)) from None
    return at


def answer_frame(correlation_id: int, flexible: bool, body: bytes) -> bytes:
    """A whole answer: length, correlation id, an empty tag section when `flexible`, body."""
    if flexible:
        return ANSWER_FLEXIBLE.pack(len(body) + 5, correlation_id, 0) + body
    return ANSWER.pack(len(body) + 4, correlation_id) + body
