"""A consumer group as data: who is in it, who holds what, how far everyone is, and what cannot be."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator.modern.group import (
    AWAY,
    ClassicPart,
    Member,
    MemberState,
    ModernGroup,
    ResolvedRegex,
    State,
    keys_of,
)
from tests.support.laws import law

T, U = b"t" * 16, b"u" * 16


def member(member_id: str, **about) -> Member:
    told = {"client_id": "client", "client_host": "/10.0.0.1", "rebalance_timeout_ms": 30_000, "topics": ("t",)}
    return Member(member_id=member_id, **{**told, **about})


def changed(of: Member, **about) -> Member:
    return msgspec.structs.replace(of, **about)


def group(*members: Member, epoch: int = 1, target_epoch: int = 1) -> ModernGroup:
    """Members whose target is what they hold."""
    made = ModernGroup(group_id="group", epoch=epoch)
    for each in members:
        made.put(each)
    made.set_target({m.member_id: m.assigned for m in members}, target_epoch, "uniform")
    made.check()
    return made


# States


def test_a_group_without_members_is_empty_whatever_its_epochs():
    assert ModernGroup(group_id="g", epoch=7, target_epoch=3).state is State.EMPTY


def test_a_group_whose_target_is_behind_is_assigning():
    assert group(member("a", epoch=1), epoch=2).state is State.ASSIGNING


@pytest.mark.parametrize(
    "about",
    [
        {"epoch": 0},
        {"epoch": 1, "state": MemberState.UNRELEASED},
        {"epoch": 1, "state": MemberState.UNREVOKED},
        {"epoch": AWAY},
    ],
    ids=str,
)
def test_a_group_with_one_member_that_is_not_there_yet_is_reconciling(about):
    assert group(member("a", epoch=1), member("b", **about)).state is State.RECONCILING


def test_a_group_is_stable_when_everyone_rests_at_the_target_epoch():
    made = group(member("a", epoch=1), member("b", epoch=0))
    assert made.state is State.RECONCILING
    made.put(changed(made.members["b"], epoch=1))
    assert made.state is State.STABLE and made.is_settled


# Members


def test_members_stay_in_the_order_in_which_they_came():
    made = group(member("b"), member("a"), member("c"))
    made.put(changed(made.members["b"], rack_id="r"))
    assert list(made.members) == ["b", "a", "c"]


def test_an_instance_has_one_holder():
    made = group(member("a", instance_id="i"), member("b"))
    assert made.holder("i") is made.members["a"]
    assert made.holder("j") is None and made.holder(None) is None
    with pytest.raises(AssertionError):
        made.put(member("c", instance_id="i"))


def test_a_member_that_goes_leaves_nothing_behind():
    made = group(member("a", instance_id="i", epoch=1, assigned={T: (0, 1)}), member("b", epoch=1))
    made.heard_ms["a"] = 5
    gone = made.remove("a")
    made.check()
    assert gone.member_id == "a"
    assert (made.holder("i"), made.owner(T, 0), made.target, made.heard_ms) == (None, None, {"b": {}}, {})


def test_a_successor_has_the_place_the_share_and_the_target_of_the_old_id():
    made = group(member("a", instance_id="i", epoch=1, assigned={T: (0, 1)}))
    made.replace("a", changed(made.members["a"], member_id="b", epoch=0))
    made.check()
    assert (made.holder("i").member_id, made.owner(T, 1), made.target) == ("b", "b", {"b": {T: (0, 1)}})
    assert made.gained == {(T, 0): 1, (T, 1): 1}


# Owners


def test_what_a_member_was_told_to_give_up_is_still_its_own():
    made = group(member("a", epoch=1, assigned={T: (0, 1)}))
    letting_go = changed(made.members["a"], state=MemberState.UNREVOKED, assigned={T: (0,)}, revoking={T: (1,)})
    made.put(letting_go)
    assert (made.owner(T, 0), made.owner(T, 1)) == ("a", "a")
    made.put(changed(letting_go, state=MemberState.STABLE, revoking={}))
    assert (made.owner(T, 0), made.owner(T, 1)) == ("a", None)


def test_the_epoch_in_which_a_partition_was_given_stays_while_it_is_held():
    made = group(member("a", epoch=1, assigned={T: (0,)}))
    made.set_target({"a": {T: (0,), U: (3,)}}, 1, "uniform")
    made.epoch = 2
    made.put(changed(made.members["a"], epoch=2, assigned={T: (0,), U: (3,)}))
    assert made.gained == {(T, 0): 1, (U, 3): 2}


def test_two_owners_of_a_partition_are_found_out():
    made = ModernGroup(group_id="group", epoch=1)
    for member_id in "ab":
        made.put(member(member_id, epoch=0, assigned={T: (0,)}))
    with pytest.raises(AssertionError, match="two members"):
        made.check()


# Subscriptions


def test_a_member_subscribes_to_its_names_and_to_what_its_pattern_matched():
    made = group(member("a", topics=("u", "t"), regex="v.*"), member("b", topics=(), regex="w.*"))
    assert made.subscribed() == {"t", "u"}
    made.regexes["v.*"] = ResolvedRegex(("v1", "t"), 5)
    made.regexes["x.*"] = ResolvedRegex(("x1",), 5)
    assert made.topics_of(made.members["a"]) == ("t", "u", "v1")
    assert made.topics_of(made.members["b"]) == ()
    assert made.subscribed() == {"t", "u", "v1"}
    assert [made.subscribes_to(name) for name in ("t", "v1", "x1", "w1")] == [True, True, False, False]


def test_topics_patterns_and_preferences_are_counted_by_members():
    made = group(member("a", regex="r", assignor="range"), member("b", assignor="range"), member("c", topics=("u",)))
    assert (made.names, made.patterns, made.preferences) == ({"t": 2, "u": 1}, {"r": 1}, {"range": 2})
    made.remove("a")
    made.put(changed(made.members["b"], assignor=None))
    assert (made.names, made.patterns, made.preferences) == ({"t": 1, "u": 1}, {}, {})


def test_members_of_the_classic_protocol_are_counted_with_their_strategies():
    made = group(member("a"), member("b"))
    assert (made.classic_count, made.is_all_classic, made.supports_one_of(["any"])) == (0, False, True)
    made.put(changed(made.members["a"], classic=ClassicPart(10_000, (("range", b""), ("sticky", b"")))))
    assert (made.classic_count, made.is_all_classic, made.support) == (1, False, {"range": 1, "sticky": 1})
    made.put(changed(made.members["b"], classic=ClassicPart(10_000, (("sticky", b""),))))
    assert (made.is_all_classic, made.support) == (True, {"range": 1, "sticky": 2})
    assert (made.supports_one_of(["sticky"]), made.supports_one_of(["range", "other"])) == (True, False)
    made.remove("b")
    made.put(changed(made.members["a"], classic=None))
    assert (made.classic_count, made.support, group().is_all_classic) == (0, {}, False)


def test_a_target_names_every_member_and_no_epoch_that_is_yet_to_come():
    made = group(member("a", epoch=1))
    with pytest.raises(AssertionError):
        made.set_target({}, 1, "uniform")
    with pytest.raises(AssertionError):
        made.set_target({"a": {}}, 2, "uniform")


# Laws


shares = st.dictionaries(
    st.sampled_from([T, U]), st.sets(st.integers(0, 3), min_size=1).map(lambda s: tuple(sorted(s)))
)
steps = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.one_of(st.none(), st.tuples(shares, st.sampled_from([0, 1]), st.sampled_from([*MemberState]))),
    ),
    max_size=20,
)


@law
@given(steps=steps)
def test_what_is_counted_agrees_with_the_members_after_any_changes(steps):
    made = ModernGroup(group_id="group", epoch=1, target_epoch=1)
    for member_id, to in steps:
        if to is None:
            if member_id in made.members:
                made.remove(member_id)
            continue
        wanted, epoch, state = to
        theirs = {key for key, owner in made.owners.items() if owner != member_id}
        free = {topic: tuple(p for p in ps if (topic, p) not in theirs) for topic, ps in wanted.items()}
        made.put(member(member_id, epoch=epoch, state=state, assigned={t: ps for t, ps in free.items() if ps}))
        counted = ModernGroup(group_id="group", epoch=1, target_epoch=1)
        for each in made.members.values():
            counted.put(each)
        assert (made.owners, made.resting) == (counted.owners, counted.resting)
        assert made.is_settled == all(m.epoch == 1 and m.state == MemberState.STABLE for m in made.members.values())
        assert keys_of(*(m.assigned for m in made.members.values())).keys() == made.owners.keys()
