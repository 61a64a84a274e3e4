"""The membership of a consumer group as it is shown."""

from __future__ import annotations

import msgspec
import pytest

from kaas.coordinator.announcements import Cause
from kaas.coordinator.modern.group import AWAY, ClassicPart, Member, MemberState, ModernGroup, Rebalance
from kaas.coordinator.topics import Topic, Topics
from kaas.feed import consumer_views as views

OFFSET = 1_000_000
SESSION_MS = 45_000
T, U, GONE = b"t" * 16, b"u" * 16, b"g" * 16


def topics() -> Topics:
    known = Topics()
    known.put(Topic("b", T, 4))
    known.put(Topic("a", U, 1))
    return known


def member(member_id: str, *partitions: int, **more: object) -> Member:
    """A member on epoch 5 that holds these partitions of topic `b`."""
    one = Member(
        member_id=member_id,
        client_id="c",
        client_host="/h",
        rebalance_timeout_ms=30_000,
        epoch=5,
        assigned={T: partitions} if partitions else {},
    )
    return msgspec.structs.replace(one, **more)


def group_of(*members: Member, epoch: int = 5) -> ModernGroup:
    """A group whose target is of epoch 5; every member was heard at 1,000."""
    group = ModernGroup(group_id="g", epoch=epoch, target_epoch=5, target_assignor="uniform")
    for one in members:
        group.put(one)
        group.heard_ms[one.member_id] = 1_000
    return group


def reconciling(group: ModernGroup) -> ModernGroup:
    group.rebalance = Rebalance(
        cause=Cause(kind="member_joined", member_id="b", detail={"client_id": "c"}),
        started_ms=10,
        phase="reconciling",
        phase_since_ms=20,
        epoch_before=4,
        before={"a": {T: (0, 1)}},
        phases=[("assigning", 10)],
    )
    return group


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({}, "stable"),
        ({"epoch": 4}, "behind"),
        ({"epoch": 4, "state": MemberState.UNREVOKED}, "revoking"),
        ({"state": MemberState.UNRELEASED}, "waiting"),
        ({"epoch": 4, "state": MemberState.UNRELEASED}, "behind"),
        ({"epoch": AWAY}, "away"),
    ],
)
def test_a_member_is_doing_one_thing(fields: dict[str, object], word: str) -> None:
    one = member("a", **fields)
    assert views.member_state(group_of(one), one) == word


def test_a_member_shows_what_it_has_gives_up_and_is_to_have_by_topic_name() -> None:
    one = member("a", 0, revoking={T: (1, 2)}, topics=("b", "a"), regex="b.*", assignor="range", rack_id="r1")
    group = group_of(one)
    group.target["a"] = {T: (0,), U: (0,), GONE: (0,)}
    shown = views.member_view(group, one, topics(), SESSION_MS, OFFSET)
    as_pairs = lambda parts: [(part.topic, part.partitions) for part in parts or ()]  # noqa: E731
    assert as_pairs(shown.assignment) == [("b", [0])] and as_pairs(shown.revoking) == [("b", [1, 2])]
    assert as_pairs(shown.target_assignment) == [("a", [0]), ("b", [0])]
    assert (shown.subscription, shown.subscription_regex) == (["a", "b"], "b.*")
    assert (shown.server_assignor, shown.rack_id, shown.kind) == ("range", "r1", "consumer")
    assert (shown.session_timeout_ms, shown.last_heartbeat_at) == (SESSION_MS, OFFSET + 1_000)


def test_a_classic_member_is_marked_and_has_its_own_session() -> None:
    one = member("a", classic=ClassicPart(10_000, ()))
    shown = views.member_view(group_of(one), one, topics(), SESSION_MS, OFFSET)
    assert (shown.kind, shown.session_timeout_ms) == ("classic", 10_000)


def test_both_epochs_stand_in_the_header() -> None:
    shown = views.header(group_of(member("a"), epoch=6), OFFSET)
    assert (shown["state"], shown["group_epoch"], shown["assignment_epoch"]) == ("Assigning", 6, 5)
    assert (shown["type"], shown["protocol_type"], shown["protocol"]) == ("consumer", "consumer", "uniform")


def test_nobody_is_waited_for_while_there_is_no_target() -> None:
    group = reconciling(group_of(member("a"), epoch=6))
    assert group.rebalance is not None
    group.rebalance.phase = "assigning"
    shown = views.rebalance_view(group, OFFSET)
    assert shown is not None and (shown.waiting_for, shown.waiting_count) == ([], 0)


def test_who_holds_on_to_partitions_is_named_first_with_the_end_of_its_time() -> None:
    late = member("late", epoch=4)
    holder = member("holder", 0, epoch=4, state=MemberState.UNREVOKED, revoking={T: (1,)})
    group = reconciling(group_of(late, holder, member("done", 2)))
    group.revoking_since_ms["holder"] = 600
    shown = views.rebalance_view(group, OFFSET)
    assert shown is not None and shown.generation_before == 4 and shown.members_before == 1
    assert [(w.member_id, w.timer, w.since, w.deadline_at) for w in shown.waiting_for] == [
        ("holder", "revocation", OFFSET + 600, OFFSET + 30_600),
        ("late", "heartbeat", None, None),
    ]


def test_who_waits_for_another_is_not_waited_for_until_its_partitions_are_free() -> None:
    holder = member("holder", 0, epoch=4, state=MemberState.UNREVOKED, revoking={T: (1,)})
    waits = member("waits", state=MemberState.UNRELEASED)
    group = reconciling(group_of(holder, waits))
    group.target["waits"] = {T: (1,)}
    assert [w.member_id for w in views.waits_for(group, OFFSET)] == ["holder"]
    group.put(member("holder", 0))
    assert [(w.member_id, w.timer) for w in views.waits_for(group, OFFSET)] == [("waits", "heartbeat")]


def test_a_static_member_between_two_lives_is_waited_for() -> None:
    group = reconciling(group_of(member("a", epoch=AWAY, instance_id="i")))
    assert [(w.timer, w.deadline_at) for w in views.waits_for(group, OFFSET)] == [("away", None)]


def test_a_rebalance_names_fifty_and_counts_all() -> None:
    group = reconciling(group_of(*(member(f"m{n}", epoch=4) for n in range(80))))
    shown = views.rebalance_view(group, OFFSET)
    assert shown is not None and (len(shown.waiting_for), shown.waiting_count) == (50, 80)


def test_a_group_without_a_rebalance_shows_none() -> None:
    assert views.rebalance_view(group_of(member("a")), OFFSET) is None
