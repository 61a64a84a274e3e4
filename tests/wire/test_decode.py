"""Bytes to messages."""

from __future__ import annotations

import pytest

from kaas.wire.decode import Unreadable, decode
from kaas.wire.encode import encode_request


def test_a_message_begins_anywhere_and_what_follows_it_is_ignored() -> None:
    data = encode_request(12, 4, {"group_id": "g", "member_id": "m", "generation_id": 3})
    message = decode(12, 4, "request", b"head" + data + b"tail", 4)
    assert (message.group_id, message.member_id, message.generation_id, message.group_instance_id) == (
        "g",
        "m",
        3,
        None,
    )


@pytest.mark.parametrize("cut", range(10))
def test_a_message_that_is_cut_is_unreadable(cut: int) -> None:
    data = encode_request(12, 4, {"group_id": "g", "member_id": "m"})
    with pytest.raises(Unreadable):
        decode(12, 4, "request", data[:cut])


def test_null_where_none_may_be_and_bytes_that_are_no_text_are_unreadable() -> None:
    with pytest.raises(Unreadable):
        decode(10, 0, "request", b"\xff\xff")
    with pytest.raises(Unreadable):
        decode(10, 0, "request", b"\0\1\xff")
