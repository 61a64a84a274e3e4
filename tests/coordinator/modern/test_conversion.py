"""A classic group in the words of KIP-848, and the reverse."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator.classic.group import ClassicGroup
from kaas.coordinator.classic.group import Member as ClassicMember
from kaas.coordinator.classic.states import State
from kaas.coordinator.modern.conversion import classic_group_of, consumer_group_of
from kaas.coordinator.modern.group import ClassicPart, MemberState
from kaas.coordinator.topics import Topic, Topics
from kaas.wire.consumer_protocol import (
    EMPTY_ASSIGNMENT,
    Assignment,
    Subscription,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from tests.support.laws import law

ORDERS, USERS = b"o" * 16, b"u" * 16


def subscribed(*topics: str, version: int = 1, rack_id: str | None = None) -> bytes:
    return encode_subscription(Subscription(version=version, topics=topics, rack_id=rack_id))


def share(user_data: bytes | None = None, **topics: tuple[int, ...]) -> bytes:
    return encode_assignment(Assignment(version=1, partitions=topics, user_data=user_data))


def topics() -> Topics:
    known = Topics()
    known.put(Topic("orders", ORDERS, 4))
    known.put(Topic("users", USERS, 2))
    return known


def member(member_id: str, assignment: bytes = b"", metadata: bytes | None = None, **about) -> ClassicMember:
    return ClassicMember(
        member_id=member_id,
        instance_id=about.get("instance_id"),
        client_id="client",
        client_host="/10.0.0.1",
        session_timeout_ms=9_000,
        rebalance_timeout_ms=60_000,
        protocols=(("range", subscribed("orders") if metadata is None else metadata), ("roundrobin", b"")),
        assignment=assignment,
        synced=True,
        joined_at=5,
    )


def classic(*members: ClassicMember, generation: int = 3) -> ClassicGroup:
    group = ClassicGroup(
        group_id="g", state=State.STABLE, generation=generation, protocol_type="consumer", protocol_name="range"
    )
    for one in members:
        group.add(one)
    return group


def test_members_hold_and_are_to_hold_what_they_were_assigned():
    a = member("a", share(users=(1,), orders=(1, 0)), subscribed("users", "orders", "orders", version=3, rack_id="r"))
    group = consumer_group_of(classic(a, member("b", instance_id="i")), topics())
    group.check()
    assert (group.epoch, group.target_epoch, list(group.members), group.instances) == (3, 3, ["a", "b"], {"i": "b"})
    found = group.members["a"]
    assert (found.epoch, found.previous_epoch, found.state, found.topics) == (
        3,
        3,
        MemberState.STABLE,
        ("orders", "users"),
    )
    assert (found.rack_id, found.client_id, found.client_host, found.joined_at) == ("r", "client", "/10.0.0.1", 5)
    assert (found.classic, found.rebalance_timeout_ms) == (ClassicPart(9_000, a.protocols), 60_000)
    assert found.assigned == group.target["a"] == {ORDERS: (0, 1), USERS: (1,)}
    assert (found.regex, found.assignor) == ("", None)


@pytest.mark.parametrize("nothing", [b"", EMPTY_ASSIGNMENT, share(orders=())])
def test_a_member_without_partitions_is_no_obstacle(nothing):
    """An upgrade failed at a member that was assigned nothing.

    https://issues.apache.org/jira/browse/KAFKA-17733
    """
    group = consumer_group_of(classic(member("a", share(orders=(0,))), member("idle", nothing)), topics())
    assert group.members["idle"].assigned == {} and group.target["idle"] == {}


@pytest.mark.parametrize(("user_data", "fits"), [(None, True), (b"", True), (b"\0", False), (b"custom", False)])
def test_user_data_of_an_assignor_would_be_lost(user_data, fits):
    """An upgrade lost what an assignor of the clients' own kept there.

    https://issues.apache.org/jira/browse/KAFKA-18134
    """
    group = classic(member("a", share(user_data, orders=(0,))))
    if fits:
        assert consumer_group_of(group, topics()).members["a"].assigned == {ORDERS: (0,)}
    else:
        with pytest.raises(ValueError, match="user data"):
            consumer_group_of(group, topics())


@pytest.mark.parametrize(("assignment", "metadata"), [(b"\0", None), (b"", b"\0"), (b"", b"")])
def test_what_cannot_be_read_is_no_consumer_group(assignment, metadata):
    with pytest.raises(ValueError):
        consumer_group_of(classic(member("a", assignment, metadata)), topics())


def test_what_is_not_there_is_left_out_and_what_two_were_given_has_the_first():
    a, b = member("a", share(orders=(0, 9), gone=(0,))), member("b", share(orders=(0, 1)))
    group = consumer_group_of(classic(a, b), topics())
    group.check()
    assert [m.assigned for m in group.members.values()] == [{ORDERS: (0,)}, {ORDERS: (1,)}]


def test_a_group_without_a_protocol_yet_is_known_by_what_members_put_first():
    group = classic(member("a"), generation=0)
    group.protocol_name = ""
    assert consumer_group_of(group, topics()).members["a"].topics == ("orders",)


def test_a_generation_that_may_have_been_given_out_is_below_the_next_epoch():
    group = classic(member("a"))
    group.spent = 5
    modern = consumer_group_of(group, topics())
    assert (modern.epoch, modern.target_epoch, modern.members["a"].epoch) == (5, 3, 3)


def test_a_consumer_group_becomes_stable_at_its_epoch_with_what_members_hold():
    before = classic(member("a", share(orders=(0,)), instance_id="i"), member("b", share(orders=(1,), users=(0, 1))))
    modern = consumer_group_of(before, topics())
    a = modern.members["a"]
    gives_up = {ORDERS: (2,), b"gone" * 4: (0,)}
    modern.put(msgspec.structs.replace(a, revoking=gives_up, state=MemberState.UNREVOKED))
    group = classic_group_of(modern, topics(), reserved=1, now_ms=70)
    group.check()
    assert (group.state, group.generation, group.reserved, group.reserving) == (State.STABLE, 3, 3, 3)
    assert (group.protocol_type, group.protocol_name, group.leader, group.state_since_ms) == (
        "consumer",
        "range",
        "a",
        70,
    )
    found = group.members["a"]
    assert (found.session_timeout_ms, found.rebalance_timeout_ms, found.instance_id) == (9_000, 60_000, "i")
    assert (found.protocols, found.joined_at, found.heard_ms, found.synced) == (
        before.members["a"].protocols,
        5,
        70,
        True,
    )
    assert decode_assignment(found.assignment) == Assignment(version=1, partitions={"orders": (0, 2)})
    assert group.assigned == {m.member_id: m.assignment for m in group.members.values()}


def test_numbers_that_are_reserved_stay_so():
    modern = consumer_group_of(classic(member("a")), topics())
    assert classic_group_of(modern, topics(), reserved=8, now_ms=0).reserved == 8


def test_a_member_without_a_share_is_given_one_that_it_can_read():
    group = classic_group_of(consumer_group_of(classic(member("a")), topics()), topics(), reserved=0, now_ms=0)
    assert decode_assignment(group.members["a"].assignment).partitions == {} and group.members["a"].assignment


shares = st.lists(st.sets(st.integers(0, 3)), min_size=1, max_size=4)


@given(shares, st.integers(0, 9))
@law
def test_there_and_back_again_is_the_same_group(rows, generation):
    given_out: set[int] = set()
    members = []
    for number, row in enumerate(rows):
        mine = tuple(sorted(row - given_out))
        given_out |= row
        members.append(member(f"m{number}", share(orders=mine)))
    before = classic(*members, generation=generation)
    modern = consumer_group_of(before, topics())
    modern.check()
    after = classic_group_of(modern, topics(), reserved=0, now_ms=0)
    assert (after.generation, after.protocol_name, after.leader) == (generation, "range", before.leader)
    held = {m.member_id: decode_assignment(m.assignment).partitions.get("orders", ()) for m in after.members.values()}
    assert held == {m.member_id: decode_assignment(m.assignment).partitions["orders"] for m in before.members.values()}
