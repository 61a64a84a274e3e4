"""Rebalances that ended: what moved, what stayed, who was without partitions."""

from __future__ import annotations

import msgspec

from kaas.coordinator.announcements import Cause, RebalanceCompleted
from kaas.coordinator.topics import Partitions, Topic, Topics
from kaas.feed import records
from kaas.wire.consumer_protocol import Assignment, encode_assignment

NONE = Topics()


def completed(
    before: dict[str, dict[str, tuple[int, ...]]], after: dict[str, dict[str, tuple[int, ...]]]
) -> RebalanceCompleted:
    encode = lambda shares: {m: encode_assignment(Assignment(version=0, partitions=p)) for m, p in shares.items()}  # noqa: E731
    return RebalanceCompleted(
        started_at=100,
        ended_at=400,
        phases=(("joining", 250), ("syncing", 50)),
        cause=Cause(kind="member_left", member_id="x"),
        also=(Cause(kind="member_joined", member_id="y"),),
        outcome="stable",
        generation_before=1,
        generation_after=2,
        before=encode(before),
        after=encode(after),
        members_before=len(before),
        members_after=len(after),
        protocol_type="consumer",
    )


def test_a_record_says_what_moved_and_what_stayed() -> None:
    record = records.rebalance_record(
        completed({"a": {"t": (0, 1)}, "x": {"t": (2,)}}, {"a": {"t": (0, 2)}, "y": {"t": (1,)}}), "range", NONE
    )
    assert [(m.partition, m.from_member, m.to_member) for m in record.moved] == [(1, "a", "y"), (2, "x", "a")]
    assert (record.kept, record.moved_count, record.duration_ms) == (1, 2, 300)
    assert record.without_ms == {"a": 300, "y": 300}
    assert records.rebalance_record(completed({}, {"a": {"t": (0,)}}), "cooperative-sticky", NONE).without_ms == {}
    assert records.last_of(record).at == 400


def test_undecodable_assignments_own_nothing() -> None:
    assert records.owners({"a": b"\0"}, "consumer", NONE) == {} == records.owners({"a": b""}, "connect", NONE)


def test_the_partitions_of_a_consumer_group_are_told_by_name_and_its_members_never_stop() -> None:
    topics = Topics()
    topics.put(Topic("t", b"t" * 16, 3))
    gone: Partitions = {b"x" * 16: (0,)}
    done = msgspec.structs.replace(
        completed({}, {}),
        kind="consumer",
        before={"a": {b"t" * 16: (0, 1)}, "b": gone},
        after={"a": {b"t" * 16: (0,)}, "b": {b"t" * 16: (1,)}},
    )
    record = records.rebalance_record(done, "uniform", topics)
    assert [(m.topic, m.partition, m.from_member, m.to_member) for m in record.moved] == [("t", 1, "a", "b")]
    assert (record.kind, record.kept, record.without_ms) == ("consumer", 1, {})
