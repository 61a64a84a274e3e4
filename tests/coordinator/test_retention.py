"""What expires and when, what never does, and that nothing that was just committed goes with what was old."""

from __future__ import annotations

import pytest

from kaas.coordinator import retention, timers
from kaas.coordinator.announcements import GroupGone, OffsetsChanged
from kaas.coordinator.events import ClockMoved, TimerExpired
from kaas.coordinator.offset_entry import OffsetEntry
from kaas.coordinator.records import OffsetsDeleted
from tests.support.groups import GROUP, OTHER_TOPIC, Groups

RETENTION_MS = 100_000
INTERVAL_MS = 10_000


def groups_with(**config) -> Groups:
    return Groups(
        **{"offsets_retention_ms": RETENTION_MS, "offsets_retention_check_interval_ms": INTERVAL_MS, **config}
    )


def test_the_offsets_of_a_simple_group_go_a_retention_after_their_commit():
    groups = groups_with()
    groups.commits({("t", 0): 1})
    groups.passes(50_000)
    groups.commits({("t", 1): 1})
    groups.passes(RETENTION_MS - 50_000)
    assert groups.committed() == {("t", 1): 1}
    assert groups.heard(OffsetsChanged)[-1].why == "expired"


def test_a_simple_group_goes_with_its_last_offset():
    groups = groups_with()
    groups.commits({("t", 0): 1})
    groups.passes(RETENTION_MS + INTERVAL_MS)
    assert groups.listed() == {} and groups.durable() == {}
    assert groups.heard(GroupGone)[-1].kind == "group_expired"


def test_the_offsets_of_a_group_that_became_empty_go_a_retention_after_that():
    groups = groups_with()
    (a,) = groups.settled(groups.member(session_timeout_ms=1_000_000))
    a.commits()
    groups.passes(5 * RETENTION_MS)
    a.leaves()
    groups.passes(RETENTION_MS - INTERVAL_MS)
    assert groups.committed() == {("t", 0): 1}
    groups.passes(INTERVAL_MS)
    assert groups.listed() == {}


def test_what_an_operator_reset_in_an_empty_group_is_kept_a_full_retention():
    """A decision of ours (docs/decisions): Apache counts from the day the group became Empty."""
    groups = groups_with()
    (a,) = groups.settled(groups.member())
    a.leaves()
    groups.passes(RETENTION_MS - 1)
    groups.commits({("t", 0): 0})
    groups.passes(RETENTION_MS - INTERVAL_MS)
    assert groups.committed() == {("t", 0): 0}


def test_a_restart_does_not_count_the_retention_anew():
    """The time of the state was reset on load.

    https://issues.apache.org/jira/browse/KAFKA-10401
    """
    groups = groups_with()
    (a,) = groups.settled(groups.member())
    a.commits()
    a.leaves()
    groups.passes(RETENTION_MS - INTERVAL_MS)
    groups.restarts()
    groups.passes(INTERVAL_MS)
    assert groups.listed() == {}


def test_an_offset_with_a_retention_of_its_own_goes_by_that():
    """K22."""
    groups = groups_with()
    groups.commits({("t", 0): 1}, retention_ms=1)
    groups.commits({("t", 1): 1}, retention_ms=10 * RETENTION_MS)
    groups.commits({("t", 2): 1}, retention_ms=None)
    groups.passes(INTERVAL_MS)
    assert groups.committed() == {("t", 1): 1, ("t", 2): 1}
    groups.passes(RETENTION_MS)
    assert groups.committed() == {("t", 1): 1}


def test_a_newer_commit_of_the_same_partition_counts():
    groups = groups_with()
    groups.commits({("t", 0): 1, ("t", 1): 1}, retention_ms=1)
    groups.commits({("t", 0): 2})
    groups.passes(INTERVAL_MS)
    assert groups.committed() == {("t", 0): 2}


def test_a_stable_group_keeps_the_offsets_of_what_it_subscribes_to():
    groups = groups_with()
    (a,) = groups.settled(groups.member(session_timeout_ms=1_000_000))
    a.commits(1, "t", retention_ms=1)
    a.commits(1, "old", retention_ms=1)
    groups.passes(INTERVAL_MS)
    assert groups.committed() == {("t", 0): 1}
    a.leaves()
    groups.passes(INTERVAL_MS)
    assert groups.listed() == {}


def test_nothing_expires_while_the_group_rebalances():
    """KAFKA-13636."""
    groups = groups_with()
    a, b = groups.settled(*groups.members(2, session_timeout_ms=1_000_000, rebalance_timeout_ms=1_000_000))
    a.commits(1, "old", retention_ms=1)
    b.joins(protocols=OTHER_TOPIC)
    groups.passes(INTERVAL_MS)
    assert ("old", 0) in groups.committed()
    a.joins()
    groups.passes(INTERVAL_MS)
    assert ("old", 0) in groups.committed()
    groups.settled(a, b)
    groups.passes(INTERVAL_MS)
    assert groups.committed() == {}


def test_nothing_expires_while_a_subscription_cannot_be_read():
    groups = groups_with()
    a = groups.member(protocols=(("range", b"\0"),), session_timeout_ms=1_000_000)
    groups.gathered(a)
    a.syncs({a: b""})
    a.commits(1, "old", retention_ms=1)
    groups.passes(INTERVAL_MS)
    assert ("old", 0) in groups.committed()


def test_an_offset_that_an_open_transaction_holds_stays_and_so_does_its_group():
    """KAFKA-19163."""
    groups = groups_with()
    groups.commits({("t", 0): 1, ("t", 1): 1}, retention_ms=1)
    group = groups.core.groups[GROUP]
    group.stage(7, 0, "t", 0, OffsetEntry(5, -1, "", 0))
    retention.step(groups.core, groups.now_ms + INTERVAL_MS)
    (effect, *_) = groups.core.out.take()
    assert effect.record == OffsetsDeleted([("t", 1)], "expired")
    assert not group.deleting


def test_a_group_with_members_and_one_with_a_pending_id_stay():
    groups = groups_with()
    groups.settled(groups.member(session_timeout_ms=1_000_000))
    groups.joins(group_id="pending", session_timeout_ms=15_000)
    groups.passes(INTERVAL_MS)
    assert set(groups.listed()) == {GROUP, "pending"}
    groups.passes(INTERVAL_MS)
    assert set(groups.listed()) == {GROUP}


def test_an_offset_committed_anew_while_the_check_runs_is_not_taken_for_the_old_one():
    groups = groups_with()
    groups.commits({("t", 0): 1}, retention_ms=1)
    groups.journal.held = True
    groups.passes(INTERVAL_MS - 1)
    asked = groups.commits({("t", 0): 2})
    groups.passes(1)
    groups.settle()
    assert asked.code == 0 and groups.committed() == {("t", 0): 2}


def test_a_group_is_not_buried_over_a_commit_on_its_way():
    groups = groups_with()
    groups.joins(session_timeout_ms=6_000)
    groups.journal.held = True
    groups.passes(INTERVAL_MS - 1)
    asked = groups.commits({("t", 0): 2})
    groups.passes(1)
    groups.settle()
    assert asked.code == 0 and groups.committed() == {("t", 0): 2}


def test_an_expiry_that_cannot_be_written_is_tried_again():
    groups = groups_with()
    groups.commits({("t", 0): 1}, retention_ms=1)
    groups.journal.full = True
    groups.passes(INTERVAL_MS)
    assert groups.committed() == {("t", 0): 1}
    groups.journal.full = False
    groups.passes(INTERVAL_MS)
    assert groups.listed() == {}


def test_many_groups_are_looked_at_a_few_at_a_time():
    groups = groups_with()
    count = 2 * retention.GROUPS_PER_STEP + 1
    for number in range(count):
        groups.commits({("t", 0): 1}, group_id=f"g{number}", retention_ms=1)
    groups.now_ms += INTERVAL_MS
    groups.submit(TimerExpired(key=timers.RETENTION))
    assert len(groups.listed()) == count - retention.GROUPS_PER_STEP
    assert groups.timers[timers.RETENTION] == groups.now_ms + 1
    groups.passes(2)
    assert groups.listed() == {}
    assert groups.timers[timers.RETENTION] == groups.now_ms + INTERVAL_MS


@pytest.mark.parametrize("jump_ms", [-RETENTION_MS // 2, RETENTION_MS // 2])
def test_expiry_goes_by_wall_time(jump_ms):
    groups = groups_with()
    groups.commits({("t", 0): 1})
    groups.wall_offset_ms += jump_ms
    groups.submit(ClockMoved(wall_offset_ms=groups.wall_offset_ms))
    groups.passes(RETENTION_MS - jump_ms - INTERVAL_MS)
    assert groups.committed() == {("t", 0): 1}
    groups.passes(INTERVAL_MS)
    assert groups.listed() == {}
