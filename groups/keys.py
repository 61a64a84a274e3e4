"""How a group id or a member id stands in an address: one path segment, whatever bytes it has.

Job: id to key and back. Plain ids stay readable; every other is `~` and unpadded base64url of its UTF-8 bytes, `~` alone
is the empty id. So no id is reserved and none needs escaping.
Must not know: which ids exist.
"""

from __future__ import annotations

import base64
import binascii
import re

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ENCODED = re.compile(r"~[A-Za-z0-9_-]*")


def key_of(id_: str) -> str:
    """The path segment of a group or member id."""
    if _PLAIN.fullmatch(id_):
        return id_
    return "~" + base64.urlsafe_b64encode(id_.encode()).decode().rstrip("=")


def id_of(key: str) -> str:
    """The id behind a path segment.

    Raises ValueError for a segment that stands for no id.
    """
    if _PLAIN.fullmatch(key):
        return key
    if not _ENCODED.fullmatch(key):
        raise ValueError(f"{key!r} is no key of an id")
    encoded = key[1:]
    try:
        return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError) as problem:
        raise ValueError(f"{key!r} is no key of an id") from problem
