"""What waits to be published."""

from __future__ import annotations

from kaas.coordinator.announcements import GroupGone, MemberChange, MembersChanged, OffsetsChanged, StateChanged
from kaas.feed.backlog import EVENTS_PER_GROUP, Backlog

COMMIT = OffsetsChanged(kind="offsets_committed", rows=[("t", 0)])
STATE = StateChanged(before="Stable", after="Empty")


def left(member_id: str) -> MemberChange:
    return MemberChange(kind="member_left", member_id=member_id, instance_id=None, client_id="c", client_host="/h")


def test_commits_wait_and_everything_else_is_urgent() -> None:
    backlog = Backlog()
    assert backlog.add("a", 1, COMMIT) is False
    assert backlog.add("b", 1, STATE) is True
    assert backlog.add("b", 2, STATE) is False
    assert [g for g, _ in backlog.take(10, lazy=False)] == ["b"]
    assert [g for g, _ in backlog.take(10, lazy=True)] == ["a"]
    assert backlog.take(10, lazy=True) == []


def test_urgent_groups_are_taken_first_and_no_more_than_asked() -> None:
    backlog = Backlog()
    for name in "abc":
        backlog.add(name, 1, COMMIT)
    backlog.add("z", 1, STATE)
    assert [g for g, _ in backlog.take(2, lazy=True)] == ["z", "a"]
    assert [g for g, _ in backlog.take(9, lazy=True)] == ["b", "c"]


def test_a_group_that_rests_is_taken_when_it_has_rested() -> None:
    backlog = Backlog()
    backlog.resting["a"] = None
    assert backlog.add("a", 1, STATE) is False
    assert backlog.take(9, lazy=True) == []
    assert backlog.rested("a") is True
    assert [g for g, _ in backlog.take(9, lazy=False)] == ["a"]
    backlog.resting["a"] = None
    assert backlog.rested("a") is False


def test_members_offsets_and_commits_are_gathered() -> None:
    backlog = Backlog()
    for what in (left("m1"), MembersChanged(member_ids=("m2",)), COMMIT, COMMIT):
        backlog.add("a", 1, what)
    ((_, changes),) = backlog.take(1, lazy=True)
    assert (list(changes.members), changes.everyone, list(changes.offsets), changes.commits) == (
        ["m1", "m2"],
        False,
        [("t", 0)],
        2,
    )
    assert len(changes.told) == 2


def test_a_change_of_state_touches_everyone() -> None:
    backlog = Backlog()
    backlog.add("a", 1, STATE)
    ((_, changes),) = backlog.take(1, lazy=True)
    assert changes.everyone


def test_the_end_of_a_group_makes_what_comes_after_it_whole() -> None:
    backlog = Backlog()
    backlog.add("a", 1, GroupGone(kind="group_deleted"))
    ((_, changes),) = backlog.take(1, lazy=True)
    assert changes.whole


def test_a_storm_is_bounded_and_published_whole() -> None:
    backlog = Backlog()
    for number in range(EVENTS_PER_GROUP + 10):
        backlog.add("a", number, STATE)
    ((_, changes),) = backlog.take(1, lazy=True)
    assert changes.whole and len(changes.told) == 10


def test_what_cannot_be_published_leaves_one_mark_per_group() -> None:
    backlog = Backlog()
    backlog.add("a", 1, STATE)
    taken = backlog.take(1, lazy=True)
    for _ in range(1_000):
        backlog.add("b", 1, COMMIT)
    backlog.forget(taken)
    assert list(backlog.marks) == ["a", "b"] and not backlog.changes and not backlog.urgent
