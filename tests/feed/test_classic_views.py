"""The membership of a classic group as it is shown."""

from __future__ import annotations

import base64

import pytest

from kaas.coordinator.announcements import Cause
from kaas.coordinator.classic.group import ClassicGroup, Member, Rebalance
from kaas.coordinator.classic.states import State
from kaas.feed import classic_views as views
from kaas.wire.consumer_protocol import Assignment, Subscription, encode_assignment, encode_subscription

OFFSET = 1_000_000


def member(name: str, **more: object) -> Member:
    metadata = encode_subscription(Subscription(version=1, topics=("b", "a")))
    fields: dict[str, object] = {
        "member_id": name,
        "instance_id": None,
        "client_id": "c",
        "client_host": "/h",
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 30_000,
        "protocols": (("range", metadata),),
    }
    return Member(**{**fields, **more})  # type: ignore[arg-type]


def group_of(state: State, *members: Member) -> ClassicGroup:
    group = ClassicGroup(group_id="g", protocol_type="consumer", protocol_name="range")
    for one in members:
        group.add(one)
        if one.parked_join is not None:
            group.waiting_count += 1
    group.state = state
    return group


def rebalancing(group: ClassicGroup, phase: str, **more: object) -> ClassicGroup:
    group.rebalance = Rebalance(
        cause=Cause(kind="member_joined", member_id="a"),
        started_ms=10,
        phase=phase,
        phase_since_ms=20,
        generation_before=1,
        members_before=1,
        before={},
        deadline_ms=500,
        **more,  # type: ignore[arg-type]
    )
    return group


@pytest.mark.parametrize(
    ("state", "fields", "word"),
    [
        (State.PREPARING_REBALANCE, {"parked_join": "t"}, "joining"),
        (State.PREPARING_REBALANCE, {"synced": True}, "missing"),
        (State.COMPLETING_REBALANCE, {"parked_sync": "t", "synced": True}, "syncing"),
        (State.COMPLETING_REBALANCE, {}, "unsynced"),
        (State.STABLE, {"synced": True}, "stable"),
        (State.STABLE, {}, "unsynced"),
    ],
)
def test_a_member_is_doing_one_thing(state: State, fields: dict[str, object], word: str) -> None:
    one = member("a", **fields)
    assert views.member_state(group_of(state, one), one) == word


def test_a_member_shows_topics_and_partitions_sorted() -> None:
    share = encode_assignment(Assignment(version=0, partitions={"b": (2, 0), "a": (1,)}))
    one = member("a", assignment=share, synced=True, heard_ms=5)
    shown = views.member_view(group_of(State.STABLE, one), one, OFFSET)
    assert shown.subscription == ["a", "b"] and shown.subscription_raw is None
    assert [(t.topic, t.partitions) for t in shown.assignment or ()] == [("a", [1]), ("b", [0, 2])]
    assert (shown.last_heartbeat_at, shown.is_leader) == (OFFSET + 5, True)


def test_what_cannot_be_decoded_is_shown_raw() -> None:
    one = member("a", protocols=(("range", b"\xff\xff?"),), assignment=b"\0")
    shown = views.member_view(group_of(State.STABLE, one), one, OFFSET)
    assert shown.subscription is None and base64.b64decode(shown.subscription_raw or "") == b"\xff\xff?"
    assert shown.assignment is None and base64.b64decode(shown.assignment_raw or "") == b"\0"


def test_other_protocol_types_are_never_decoded() -> None:
    one = member("a")
    group = group_of(State.STABLE, one)
    group.protocol_type = "connect"
    assert views.member_view(group, one, OFFSET).subscription is None


def test_the_join_phase_waits_for_members_that_are_not_back_and_for_pending_ids() -> None:
    group = group_of(State.PREPARING_REBALANCE, member("a", parked_join="t"), member("b"))
    group.pending["p"] = 700
    found = list(views.waits_for(rebalancing(group, "joining"), OFFSET))
    assert [(w.member_id, w.timer, w.deadline_at) for w in found] == [
        ("b", "rebalance", OFFSET + 500),
        ("p", "pending_member", OFFSET + 700),
    ]


def test_the_initial_join_phase_waits_for_its_delay() -> None:
    group = group_of(State.PREPARING_REBALANCE, member("a", parked_join="t"))
    found = list(views.waits_for(rebalancing(group, "joining", initial=True), OFFSET))
    assert [(w.member_id, w.timer) for w in found] == [(None, "initial_delay")]


def test_the_sync_phase_waits_for_the_leader() -> None:
    group = rebalancing(
        group_of(State.COMPLETING_REBALANCE, member("a"), member("b", parked_sync="t", synced=True)), "syncing"
    )
    assert [(w.member_id, w.timer) for w in views.waits_for(group, OFFSET)] == [("a", "sync")]
    group.members["a"].synced = True
    assert list(views.waits_for(group, OFFSET)) == []


def test_a_rebalance_names_fifty_and_counts_all() -> None:
    group = group_of(State.PREPARING_REBALANCE, *(member(f"m{n}") for n in range(80)))
    shown = views.rebalance_view(rebalancing(group, "joining"), OFFSET)
    assert shown is not None and (len(shown.waiting_for), shown.waiting_count) == (50, 80)
    assert (shown.started_at, shown.phase_since) == (OFFSET + 10, OFFSET + 20)


def test_offsets_without_members_ever_are_a_simple_group() -> None:
    """https://issues.apache.org/jira/browse/KAFKA-6287"""
    group = ClassicGroup(group_id="g")
    assert views.header(group, OFFSET)["type"] == "simple"
    group.protocol_type = "consumer"
    assert views.header(group, OFFSET)["type"] == "classic"
