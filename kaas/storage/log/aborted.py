"""Aborted transactions of one segment, and their file.

Job: the ranges that a read_committed consumer must skip, as data and as bytes.
Rules: an entry stands in the segment of its abort marker, in the order of markers; `.txnindex` holds those of one
segment, in Kafka's layout; a segment without an aborted transaction has no such file.
Must not know: producers, segments.
Source: KIP-98.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct

import msgspec

_LAYOUT = Struct(">hqqqq")  # version, then the fields in their order
_VERSION = 0


class AbortedTransaction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One aborted transaction: its producer, its first offset, the offset of its marker, and the last stable offset
    then.

    No transaction that ends later begins before `last_stable_offset`: a search may stop there.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def pack_aborted(entries: Iterable[AbortedTransaction]) -> bytes:
    """The bytes of a `.txnindex` file."""
    return b"".join(
        _LAYOUT.pack(_VERSION, one.producer_id, one.first_offset, one.last_offset, one.last_stable_offset)
        for one in entries
    )


def unpack_aborted(data: bytes) -> list[AbortedTransaction]:
    """The entries of a `.txnindex` file; a torn entry at its end is left out."""
    whole = len(data) - len(data) % _LAYOUT.size
    return [
        AbortedTransaction(producer_id=producer, first_offset=first, last_offset=last, last_stable_offset=stable)
        for _, producer, first, last, stable in _LAYOUT.iter_unpack(data[:whole])
    ]
