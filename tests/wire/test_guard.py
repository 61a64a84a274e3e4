"""Arrays that claim more than there is are refused before anything is read."""

from __future__ import annotations

import random
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.wire.apis import APIS
from kaas.wire.decode import Unreadable, decode
from kaas.wire.encode import encode_request, entity_writer, message_class
from kaas.wire.guard import has_arrays, least_bytes, message_walker

MESSAGES = [
    (a.key, v, kind)
    for a in APIS.values()
    for v in range(a.min_version, a.max_version + 1)
    for kind in ("request", "response")
]
COMMIT = {
    "group_id": "g",
    "member_id": "m",
    "topics": [{"name": "t", "partitions": [{"partition_index": p, "committed_metadata": "x" * p} for p in range(3)]}],
}


@pytest.mark.parametrize(("key", "version", "kind"), MESSAGES)
def test_a_message_at_rest_is_walked_to_its_last_byte(key: int, version: int, kind: str) -> None:
    parts: list[bytes] = []
    entity_writer(message_class(key, version, kind))(parts.append, {})
    data = b"".join(parts)
    walk = message_walker(key, version, kind)
    assert (walk is not None) == has_arrays(key, version, kind)
    assert walk is None or walk(data, 0, len(data), None) == len(data)
    assert least_bytes(message_class(key, version, kind)) <= len(data)


@pytest.mark.parametrize("version", range(2, 10))
def test_entries_of_any_size_are_stepped_over(version: int) -> None:
    data = encode_request(8, version, COMMIT)
    walk = message_walker(8, version, "request")
    assert walk is not None and walk(b"head" + data + b"tail", 4, len(data) + 8, None) == len(data) + 4


@pytest.mark.parametrize("claim", [2, 1_000, 2**24, 2**31 - 1])
def test_an_array_that_claims_too_much_is_refused(claim: int) -> None:
    body = struct.pack(">i", claim)
    with pytest.raises(Unreadable, match="an array of"):
        decode(3, 1, "request", body)
    with pytest.raises(Unreadable, match="an array of"):
        decode(3, 9, "request", b"\xff\xff\xff\xff\x0f" if claim > 1_000 else b"\xff\x07")


def test_a_null_array_is_no_claim() -> None:
    assert decode(3, 1, "request", b"\xff\xff\xff\xff").topics is None
    assert decode(3, 12, "request", b"\0\0\0\0").topics is None


def test_an_array_inside_a_tag_is_looked_at() -> None:
    feature = b"\x01" + b"\x06" + b"\xff\xff\xff\xff\x0f" + b"\0"  # tag 0 of ApiVersions: supported features
    body = struct.pack(">h", 0) + b"\x01" + struct.pack(">i", 0) + b"\x01\x00" + feature
    with pytest.raises(Unreadable):
        decode(18, 3, "response", body)


def test_tags_that_nobody_knows_are_ignored_wherever_they_stand() -> None:
    unknown = b"\x01\x63\x03abc"
    assert decode(3, 12, "request", encode_request(3, 12, {"topics": []})[:-1] + unknown).topics == ()
    beat = encode_request(12, 4, {"group_id": "g", "member_id": "m"})
    assert decode(12, 4, "request", beat[:-1] + unknown).group_id == "g"
    commit = encode_request(8, 8, {"group_id": "g", "topics": [{"name": "t", "partitions": [{"partition_index": 7}]}]})
    assert commit.endswith(b"\0\0\0")
    read = decode(8, 8, "request", commit[:-3] + unknown * 3 + b"behind")
    assert [(t.name, [p.partition_index for p in t.partitions]) for t in read.topics] == [("t", [7])]


def test_a_known_tag_beside_an_unknown_one_is_kept() -> None:
    body = encode_request(1, 12, {"cluster_id": "c"})
    known = body[-5:]
    assert known[0] == 1  # one tag: the cluster id
    two = body[:-5] + b"\x02" + known[1:] + b"\x63\x00"
    assert decode(1, 12, "request", two).cluster_id == "c"


@given(data=st.binary(max_size=200), number=st.integers(0, len(MESSAGES) - 1))
def test_noise_is_unreadable_or_a_message_and_never_anything_else(data: bytes, number: int) -> None:
    key, version, kind = MESSAGES[number]
    try:
        decode(key, version, kind, data)
    except Unreadable:
        return


@given(seed=st.integers(0, 2**32))
def test_a_message_with_one_byte_changed_ends_nobody(seed: int) -> None:
    dice = random.Random(seed)
    version = dice.randrange(2, 10)
    data = bytearray(encode_request(8, version, COMMIT))
    data[dice.randrange(len(data))] = dice.randrange(256)
    try:
        decode(8, version, "request", bytes(data))
    except Unreadable:
        return


@pytest.mark.parametrize("version", [0, 5])
def test_texts_and_numbers_in_arrays_are_stepped_over(version: int) -> None:
    groups = ["", "a" * 200, "é"]
    assert list(decode(15, version, "request", encode_request(15, version, {"groups": groups})).groups) == groups
    fetch = {"group_id": "g", "topics": [{"name": "t", "partition_indexes": [1, 2, 3]}]}
    read = decode(9, 5 + version // 5, "request", encode_request(9, 5 + version // 5, fetch))
    assert [list(t.partition_indexes) for t in read.topics] == [[1, 2, 3]]


@pytest.mark.parametrize("version", range(10))
def test_bytes_in_entries_are_stepped_over(version: int) -> None:
    join = {
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b"x" * size} for size in (0, 5, 300)],
    }
    read = decode(11, version, "request", encode_request(11, version, join))
    assert [len(p.metadata) for p in read.protocols] == [0, 5, 300]


@pytest.mark.parametrize("version", range(3, 14))
def test_records_are_stepped_over(version: int) -> None:
    rows = [{"index": 0, "records": b"r" * 500}, {"index": 1, "records": None}]
    values = {"acks": -1, "timeout": 1, "topic_data": [{"name": "t", "partition_data": rows}]}
    read = decode(0, version, "request", encode_request(0, version, values))
    assert [p.records for p in read.topic_data[0].partition_data] == [b"r" * 500, None]
