"""Who may commit to a consumer group, and who may ask for its offsets."""

from __future__ import annotations

import pytest

from kaas.coordinator import queries
from kaas.coordinator.events import StageOffsets
from kaas.coordinator.offset_entry import OffsetEntry
from tests.support.consumers import Consumers
from tests.support.groups import GROUP


def fetched(consumers: Consumers, member_id: str | None, epoch: int) -> int:
    found = queries.fetch_offsets(consumers.core, GROUP, None, require_stable=False, member_id=member_id, epoch=epoch)
    return int(found.code)


def staged(consumers: Consumers, member_id: str, epoch: int) -> int:
    return consumers.ask(
        StageOffsets,
        group_id=GROUP,
        producer_id=1,
        epoch=0,
        generation=epoch,
        member_id=member_id,
        instance_id=None,
        rows=[("t", 0, OffsetEntry(1, -1, "", 0))],
    ).code


def test_a_commit_needs_the_member_and_its_epoch():
    consumers = Consumers(t=2)
    _, b = consumers.settled(2, "t")
    assert b.commits(7, partition=1) == 0
    assert [b.commits(8, partition=1, generation=epoch) for epoch in (1, 3, -1)] == [113, 113, 113]
    assert [b.commits(member_id="who", generation=epoch) for epoch in (2, -1)] == [25, 25]
    assert consumers.committed() == {("t", 1): 7}


def test_a_member_is_told_before_its_version():
    consumers = Consumers(t=1)
    a = consumers.joined("t")
    assert [a.commits(modern=False, generation=epoch) for epoch in (1, 0, 5)] == [35, 35, 35]
    assert a.commits(modern=False, member_id="who") == 25


def test_what_a_member_has_had_since_an_older_epoch_it_may_commit_at_that_epoch():
    """Commits failed in storms while a group changed its epochs.

    https://issues.apache.org/jira/browse/KAFKA-20066
    """
    consumers = Consumers(t=2)
    a, b = consumers.joined("t"), consumers.joined("t")
    consumers.reconcile(a, b)
    assert (a.epoch, a.held, b.held) == (2, {"t": (0,)}, {"t": (1,)})
    assert a.commits(partition=0, generation=1) == 0
    assert a.commits(partition=1, generation=1) == 113
    assert a.commits(partition=0, topic="u", generation=1) == 113
    assert b.commits(partition=1, generation=1) == 113
    assert a.commits(partition=0, generation=3) == 113


def test_nobody_may_commit_to_a_group_that_lives_and_anybody_to_an_empty_one():
    consumers = Consumers(t=1)
    a = consumers.joined("t")
    nobody = {"member_id": "", "generation": -1}
    assert [a.commits(**nobody), a.commits(**nobody, modern=False), a.commits(member_id="")] == [25, 25, 25]
    a.leaves()
    assert [a.commits(5, **nobody), a.commits(6, **nobody, modern=False), a.commits(7, generation=-1)] == [0, 0, 0]
    assert [a.commits(generation=epoch) for epoch in (0, 1)] == [25, 25]
    assert consumers.committed() == {("t", 0): 7}


def test_who_is_away_may_commit_as_such_and_keeps_the_group_from_others():
    consumers = Consumers(t=1)
    a = consumers.joined("t", instance_id="i")
    a.leaves(-2)
    assert a.commits(generation=-2) == 0
    assert a.commits(member_id="", generation=-1) == 25


def test_a_commit_does_not_keep_a_member_alive():
    consumers = Consumers(t=1, config={"consumer_session_timeout_ms": 4_000})
    a = consumers.joined("t")
    consumers.passes(3_000)
    assert a.commits() == 0
    consumers.passes(1_000)
    assert consumers.seen[0] == "Empty"


def test_a_transaction_may_commit_for_nobody_while_members_live():
    """https://issues.apache.org/jira/browse/KAFKA-18060"""
    consumers = Consumers(t=1)
    a = consumers.joined("t")
    asked = [("", -1), (a.id, 1), (a.id, 0), (a.id, 2), (a.id, -1), ("who", 1), ("who", -1)]
    assert [staged(consumers, *who) for who in asked] == [0, 0, 22, 22, 22, 25, 25]
    a.leaves()
    assert staged(consumers, "who", -1) == 0


@pytest.mark.parametrize(
    ("member_id", "epoch", "code"),
    [(None, -1, 0), (None, 1, -1), ("", -1, 25), ("who", 1, 25), ("a", 1, 0), ("a", 0, 113), ("a", -1, 113)],
)
def test_a_fetch_is_checked_when_it_names_a_member(member_id, epoch, code):
    consumers = Consumers(t=1)
    consumers.joined("t", member_id="a")
    assert fetched(consumers, member_id, epoch) == code
