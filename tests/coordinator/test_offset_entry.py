"""One committed offset."""

from __future__ import annotations

import msgspec
import pytest

from kaas.coordinator.offset_entry import OffsetEntry


def test_an_offset_has_no_expiry_and_no_topic_id_unless_the_commit_gave_them():
    entry = OffsetEntry(5, -1, "note", 99)
    assert (entry.expires_at, entry.topic_id) == (None, None)


def test_an_offset_is_an_array_so_that_fields_can_be_added_at_the_end():
    entry = OffsetEntry(5, 3, "note", 99, 100, bytes(16))
    packed = msgspec.msgpack.encode(entry)
    assert msgspec.msgpack.decode(packed) == [5, 3, "note", 99, 100, bytes(16)]
    assert msgspec.msgpack.decode(packed, type=OffsetEntry) == entry


def test_an_offset_does_not_change():
    with pytest.raises(AttributeError):
        OffsetEntry(5, -1, "", 99).offset = 6
