"""The membership as data: who is in it, who leads, which protocol is chosen, and what cannot be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator.classic.group import ClassicGroup, Member
from kaas.coordinator.classic.states import State
from tests.support.groups import protocols, subscription
from tests.support.laws import law

NAMES = ("range", "roundrobin", "sticky", "cooperative-sticky")


def member(member_id: str, *names: str, instance_id: str | None = None, topic: str = "t", **more) -> Member:
    return Member(
        member_id=member_id,
        instance_id=instance_id,
        client_id="client",
        client_host="/10.0.0.1",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=more.pop("rebalance_timeout_ms", 60_000),
        protocols=protocols(*(names or ("range",)), topic=topic),
        **more,
    )


def group(*members: Member) -> ClassicGroup:
    made = ClassicGroup(group_id="group", protocol_type="consumer")
    for each in members:
        made.add(each)
    return made


# Members and leader


def test_the_first_member_leads_and_the_one_that_came_next_when_it_goes():
    g = group(member("a"), member("b"), member("c"))
    assert g.leader == "a"
    g.remove("a")
    assert g.leader == "b"
    g.remove("c")
    assert g.leader == "b"
    g.remove("b")
    assert g.leader is None


def test_a_member_is_added_once():
    g = group(member("a"))
    with pytest.raises(AssertionError):
        g.add(member("a"))
    g.add(member("b", instance_id="i0"))
    with pytest.raises(AssertionError):
        g.add(member("c", instance_id="i0"))


def test_a_replacement_keeps_place_leadership_and_instance():
    g = group(member("a", instance_id="i0"), member("b"))
    old, new = g.members["a"], member("x", "sticky", instance_id="i0")
    g.replace(old, new)
    assert (list(g.members), g.leader, g.holder("i0")) == (["x", "b"], "x", new)
    assert g.support == {"sticky": 1, "range": 1}


def test_nobody_is_replaced_who_waits():
    g = group(member("a", instance_id="i0"))
    g.park_join(g.members["a"], "token")
    with pytest.raises(AssertionError):
        g.replace(g.members["a"], member("x", instance_id="i0"))


def test_parked_joins_are_counted_once_per_member():
    g = group(member("a"), member("b"))
    a = g.members["a"]
    assert g.park_join(a, "first") is None
    assert g.park_join(a, "second") == "first"
    assert (g.waiting_count, g.waiting()) == (1, [a])
    assert g.unpark_join(a) == "second" and g.unpark_join(a) is None
    assert g.waiting_count == 0


def test_a_member_that_goes_while_it_waits_is_counted_no_more():
    g = group(member("a"), member("b"))
    g.park_join(g.members["a"], "token")
    g.remove("a")
    assert g.waiting_count == 0


def test_the_holder_of_an_instance_is_the_member_that_came_with_it():
    g = group(member("a", instance_id=""), member("b"))
    assert g.holder("").member_id == "a"
    assert g.holder(None) is None and g.holder("i9") is None


def test_the_longest_rebalance_timeout_counts():
    g = group(member("a", rebalance_timeout_ms=1), member("b", rebalance_timeout_ms=3))
    assert g.longest_rebalance_timeout_ms() == 3
    assert group().longest_rebalance_timeout_ms() == 0


# Protocols


def test_candidates_are_what_every_member_has_in_the_leaders_order():
    g = group(member("a", "range", "sticky", "x"), member("b", "sticky", "range"))
    assert g.candidates() == ["range", "sticky"]
    assert group().candidates() == []


def test_the_vote_takes_what_most_put_first_among_what_all_have():
    g = group(member("a", "x", "range", "sticky"), member("b", "sticky", "range"), member("c", "sticky", "range"))
    assert g.vote() == "sticky"


def test_a_tie_goes_to_the_order_of_the_leader():
    """Apache leaves ties open; here they are settled alike each time (docs/decisions)."""
    assert group(member("a", "range", "sticky"), member("b", "sticky", "range")).vote() == "range"
    assert group(member("a", "sticky", "range"), member("b", "range", "sticky")).vote() == "sticky"


def test_an_empty_group_accepts_whoever_names_a_type_and_a_protocol():
    g = group()
    assert g.accepts("anything", protocols("x"))
    assert not g.accepts("", protocols("x")) and not g.accepts("consumer", ())


def test_a_group_accepts_whoever_has_its_type_and_one_protocol_of_all():
    g = group(member("a", "range", "sticky"), member("b", "sticky"))
    assert g.accepts("consumer", protocols("new", "sticky"))
    assert not g.accepts("consumer", protocols("range"))
    assert not g.accepts("connect", protocols("sticky"))


@st.composite
def histories(draw):
    """Joins, changes and leaves, each judged by `accepts`, as the coordinator does."""
    steps = st.tuples(st.integers(0, 4), st.lists(st.sampled_from(NAMES), min_size=1, unique=True), st.booleans())
    return draw(st.lists(steps, max_size=30))


@given(histories())
@law
def test_members_that_were_accepted_always_have_a_protocol_in_common(steps):
    g = group()
    for number, names, goes in steps:
        name, wanted = f"m{number}", protocols(*names)
        if goes and name in g.members:
            g.remove(name)
        elif g.accepts("consumer", wanted):
            if name in g.members:
                g.set_protocols(g.members[name], wanted)
            else:
                g.add(member(name, *names))
        if g.members:
            assert g.vote() in g.candidates()
            assert all(m.supports(g.vote()) for m in g.members.values())
        g._check_members()


def test_metadata_is_that_of_the_protocol_asked_for():
    m = member("a", "range", "sticky")
    assert m.metadata_of("sticky") == subscription("t") and m.metadata_of("x") == b""
    assert m.supports("sticky") and not m.supports("x")


# What it subscribes to


def test_the_group_subscribes_to_what_any_member_does():
    assert group(member("a", topic="t"), member("b", topic="u")).subscribed() == {"t", "u"}
    assert group().subscribed() == frozenset()


def test_a_subscription_that_cannot_be_read_and_another_protocol_type_count_as_everything():
    g = group(member("a"))
    g.set_protocols(g.members["a"], (("range", b"\0"),))
    assert g.subscribed() is None
    other = group(member("a"))
    other.protocol_type = "connect"
    assert other.subscribed() is None


def test_shown_is_the_metadata_of_the_chosen_protocol_or_of_the_first_choice():
    g = group(member("a"))
    m = g.members["a"]
    g.set_protocols(m, (("range", b"1"), ("sticky", b"2")))
    assert g.shown_metadata(m) == b"1"
    g.protocol_name = "sticky"
    assert g.shown_metadata(m) == b"2"
    g.protocol_name = "gone"
    assert g.shown_metadata(m) == b"1"
    g.set_protocols(m, ())
    assert g.shown_metadata(m) == b""


# Generations, and what cannot be


def test_the_next_generation_is_above_the_present_one_and_all_that_are_spent():
    g = group()
    assert g.next_generation() == 1
    g.generation = 4
    assert g.next_generation() == 5
    g.spent = 7
    assert g.next_generation() == 8


def broken_leader(g):
    g.leader = "nobody"


def broken_count(g):
    g.waiting_count = 1


def broken_instances(g):
    g.instances["i9"] = "a"


def broken_support(g):
    g.support["range"] = 5


def broken_pending(g):
    g.pending["a"] = 1


def broken_state(g):
    g.state = State.EMPTY


def broken_generation(g):
    g.generation = 9


@pytest.mark.parametrize(
    "breaks",
    [
        broken_leader,
        broken_count,
        broken_instances,
        broken_support,
        broken_pending,
        broken_state,
        broken_generation,
    ],
)
def test_what_cannot_be_is_noticed(breaks):
    g = group(member("a"), member("b"))
    g.state, g.generation, g.reserved, g.protocol_name = State.STABLE, 1, 1, "range"
    g.check()
    breaks(g)
    with pytest.raises(AssertionError):
        g.check()
