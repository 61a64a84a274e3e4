"""Subscriptions and assignments: as Java writes them, and garbage is a ValueError and nothing else."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.wire.consumer_protocol import (
    EMPTY_ASSIGNMENT,
    Assignment,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from tests.support.laws import law

texts = st.text(max_size=10)
partitions = st.dictionaries(texts, st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4).map(tuple), max_size=3)
blobs = st.none() | st.binary(max_size=10)
subscriptions = st.builds(
    Subscription,
    version=st.integers(0, 3),
    topics=st.lists(texts, max_size=3).map(tuple),
    user_data=blobs,
    owned=partitions,
    generation=st.integers(-1, 2**31 - 1),
    rack_id=st.none() | texts,
)
assignments = st.builds(Assignment, version=st.integers(0, 3), partitions=partitions, user_data=blobs)


def carried(s: Subscription) -> Subscription:
    """What a subscription of this version can carry."""
    return Subscription(
        version=s.version,
        topics=s.topics,
        user_data=s.user_data,
        owned=s.owned if s.version >= 1 else {},
        generation=s.generation if s.version >= 2 else -1,
        rack_id=s.rack_id if s.version >= 3 else None,
    )


@given(subscriptions)
@law
def test_a_subscription_comes_back_with_what_its_version_carries(subscription):
    assert decode_subscription(encode_subscription(subscription)) == carried(subscription)


@given(assignments)
@law
def test_an_assignment_comes_back_as_it_was(assignment):
    assert decode_assignment(encode_assignment(assignment)) == assignment


def test_bytes_are_those_that_java_writes():
    assert encode_subscription(Subscription(version=1, topics=("t",), owned={"t": (0, 1)})) == (
        b"\0\1\0\0\0\1\0\1t\xff\xff\xff\xff\0\0\0\1\0\1t\0\0\0\2\0\0\0\0\0\0\0\1"
    )
    assert encode_assignment(Assignment(version=0, partitions={"t": (2,)})) == (
        b"\0\0\0\0\0\1\0\1t\0\0\0\1\0\0\0\2\xff\xff\xff\xff"
    )
    assert encode_assignment(Assignment(version=0, partitions={})) == EMPTY_ASSIGNMENT


@given(subscriptions, st.binary(min_size=1, max_size=6))
@law
def test_fields_of_a_later_version_are_left_unread(subscription, more):
    data = bytearray(encode_subscription(subscription))
    if subscription.version == 3:
        data[:2] = struct.pack(">h", 9)
        assert decode_subscription(bytes(data) + more).topics == subscription.topics


def test_a_version_1_without_owned_partitions_is_read():
    """franz-go#493."""
    data = b"\0\1" + encode_subscription(Subscription(version=0, topics=("t",)))[2:]
    assert decode_subscription(data).owned == {}


def test_a_version_0_without_user_data_cannot_be_read():
    """It then holds every topic, as on an Apache broker."""
    with pytest.raises(ValueError, match=r".*"):
        decode_subscription(b"\0\0\0\0\0\0")


def test_zero_bytes_are_an_empty_assignment():
    """KAFKA-6868.

    https://issues.apache.org/jira/browse/KAFKA-6868
    """
    assert decode_assignment(b"") == Assignment(version=0, partitions={})
    with pytest.raises(ValueError, match=r".*"):
        decode_subscription(b"")


def test_an_assignment_with_null_user_data_or_without_any_is_read():
    """librdkafka#660.

    https://github.com/confluentinc/librdkafka/issues/660
    """
    whole = encode_assignment(Assignment(version=0, partitions={"t": (1,)}))
    assert decode_assignment(whole) == decode_assignment(whole[:-4])


def test_rows_of_one_topic_are_joined():
    row = b"\0\1t" + struct.pack(">ii", 1, 7)
    assert decode_assignment(b"\0\0" + struct.pack(">i", 3) + row * 3).partitions == {"t": (7, 7, 7)}


def test_very_many_rows_of_one_topic_are_joined_in_time():
    """Each row cost as much as all before it, so that a megabyte of them held the broker for seconds."""
    count = 300_000
    row = b"\0\1t" + struct.pack(">ii", 1, 7)
    data = b"\0\0" + struct.pack(">i", count) + row * count
    assert len(decode_assignment(data).partitions["t"]) == count


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">hi", 0, 2**31 - 1),
        struct.pack(">hi", 0, -1),
        struct.pack(">hi", -1, 0) + b"\xff\xff\xff\xff",
        struct.pack(">hih", 0, 1, -1),
        struct.pack(">hih", 0, 1, 5) + b"abc",
        struct.pack(">hih", 0, 1, 2) + b"\xff\xfe" + b"\xff\xff\xff\xff",
        struct.pack(">hii", 0, 0, -2),
        struct.pack(">hii", 0, 0, 100),
        struct.pack(">hiii", 1, 0, -1, 2**30),
    ],
)
def test_counts_and_lengths_that_cannot_be_true_are_value_errors(data):
    with pytest.raises(ValueError, match=r".*"):
        decode_subscription(data)


@given(st.binary(max_size=60))
@law
def test_garbage_is_a_value_error_and_nothing_else(data):
    for decode in (decode_subscription, decode_assignment):
        with contextlib.suppress(ValueError):
            decode(data)


@given(subscriptions, assignments, st.data())
@law
def test_bytes_that_were_cut_or_hit_are_read_or_a_value_error(subscription, assignment, data):
    for whole, decode in (
        (encode_subscription(subscription), decode_subscription),
        (encode_assignment(assignment), decode_assignment),
    ):
        hit = bytearray(whole[: data.draw(st.integers(0, len(whole)))])
        if hit:
            hit[data.draw(st.integers(0, len(hit) - 1))] ^= data.draw(st.integers(0, 255))
        with contextlib.suppress(ValueError):
            decode(bytes(hit))
