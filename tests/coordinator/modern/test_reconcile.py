"""From what a member holds to what it is to hold: less first, then what is free."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator.modern.group import AWAY, Member, MemberState, ModernGroup
from kaas.coordinator.modern.reconcile import common, minus, plus, reconcile
from kaas.coordinator.topics import Partitions
from tests.support.laws import law

T, U = b"t" * 16, b"u" * 16
BOTH = (T, U)


def member(member_id: str = "a", **about) -> Member:
    told = {"client_id": "c", "client_host": "/h", "rebalance_timeout_ms": 9, "epoch": 1, "previous_epoch": 0}
    return Member(member_id=member_id, **{**told, **about})


def group(*members: Member, target: dict[str, Partitions], epoch: int = 2) -> ModernGroup:
    made = ModernGroup(group_id="g", epoch=epoch)
    for each in members:
        made.put(each)
    made.set_target({m.member_id: target.get(m.member_id, {}) for m in members}, epoch, "uniform")
    return made


def step(one: Member, made: ModernGroup, owned: Partitions | None = None, topics=BOTH) -> Member:
    after = reconcile(made, one, topics, owned)
    made.put(after)
    made.check()
    return after


def test_a_member_at_its_target_stays_as_it_is():
    one = member(assigned={T: (0,)}, epoch=2)
    assert step(one, group(one, target={"a": {T: (0,)}})) is one


def test_who_has_nothing_to_give_up_is_at_the_target_at_once():
    one = member(assigned={T: (0,)})
    after = step(one, group(one, target={"a": {T: (0, 1), U: (0,)}}))
    assert (after.epoch, after.previous_epoch, after.state) == (2, 1, MemberState.STABLE)
    assert after.assigned == {T: (0, 1), U: (0,)}


def test_who_has_something_to_give_up_stays_at_its_epoch_and_gets_nothing_new():
    one = member(assigned={T: (0, 1)})
    after = step(one, group(one, target={"a": {T: (0,), U: (0,)}}))
    assert (after.epoch, after.state, after.assigned, after.revoking) == (1, 1, {T: (0,)}, {T: (1,)})


def test_silence_and_a_claim_acknowledge_nothing():
    one = member(assigned={T: (0, 1)})
    made = group(one, target={"a": {T: (0,)}})
    waiting = step(one, made)
    assert step(waiting, made) is waiting
    assert step(waiting, made, {T: (0, 1)}) is waiting
    assert step(waiting, made, {T: (1,)}) is waiting


def test_who_has_let_go_is_at_the_target():
    one = member(assigned={T: (0, 1)})
    made = group(one, target={"a": {T: (0,), U: (0,)}})
    after = step(step(one, made), made, {T: (0,)})
    assert (after.epoch, after.state, after.assigned, after.revoking) == (2, 0, {T: (0,), U: (0,)}, {})


def test_who_joins_again_holds_nothing_so_nothing_is_waited_for():
    one = member(assigned={T: (0, 1)})
    after = step(one, group(one, target={"a": {U: (0,)}}), {})
    assert (after.epoch, after.assigned) == (2, {U: (0,)})


def test_what_another_member_holds_or_has_not_let_go_of_is_waited_for():
    other = member("b", epoch=1, state=MemberState.UNREVOKED, assigned={T: (0,)}, revoking={T: (1,)})
    one = member("a", epoch=0, previous_epoch=-1)
    made = group(other, one, target={"a": {T: (0, 1), U: (0,)}})
    after = step(one, made)
    assert (after.epoch, after.state, after.assigned) == (2, MemberState.UNRELEASED, {U: (0,)})
    made.put(member("b", epoch=2))
    after = step(after, made)
    assert (after.epoch, after.state, after.assigned) == (2, MemberState.STABLE, {T: (0, 1), U: (0,)})


def test_an_epoch_is_kept_while_more_must_be_given_up():
    """PROTOCOL 7.3.1: not one epoch per acknowledgement, but all of them at the end."""
    one = member(assigned={T: (0, 1, 2)})
    made = group(one, target={"a": {T: (0, 1)}})
    waiting = step(one, made)
    made.epoch = 5
    made.set_target({"a": {T: (0,)}}, 5, "uniform")
    waiting = step(waiting, made, {T: (0, 1)})
    assert (waiting.epoch, waiting.assigned, waiting.revoking) == (1, {T: (0,)}, {T: (1,)})
    assert step(waiting, made, {T: (0,)}).epoch == 5


def test_what_a_member_has_let_go_of_is_free_for_itself():
    """https://issues.apache.org/jira/browse/KAFKA-19449"""
    one = member(assigned={T: (0, 1)})
    made = group(one, target={"a": {T: (0,)}})
    waiting = step(one, made)
    made.epoch = 3
    made.set_target({"a": {T: (0, 1)}}, 3, "uniform")
    after = step(waiting, made, {T: (0,)})
    assert (after.epoch, after.state, after.assigned) == (3, MemberState.STABLE, {T: (0, 1)})


def test_a_topic_that_is_no_longer_subscribed_leaves_at_once_whatever_the_target_says():
    """https://issues.apache.org/jira/browse/KAFKA-19431"""
    one = member(epoch=2, assigned={T: (0,), U: (0,)})
    made = group(one, target={"a": {T: (0,), U: (0,)}})
    waiting = step(one, made, topics=(T,))
    assert (waiting.epoch, waiting.assigned, waiting.revoking) == (2, {T: (0,)}, {U: (0,)})
    waiting = step(waiting, made, topics=())
    assert (waiting.assigned, waiting.revoking) == ({}, {T: (0,), U: (0,)})
    after = step(waiting, made, {}, topics=())
    assert (after.state, after.assigned, after.revoking) == (MemberState.STABLE, {}, {})


def test_a_member_that_comes_back_has_what_it_had():
    one = member(epoch=AWAY, assigned={T: (0,)})
    made = group(one, target={"a": {T: (0,)}})
    back = member(epoch=0, previous_epoch=0, assigned={T: (0,)})
    made.put(back)
    assert step(back, made, {}).epoch == 2


def test_a_state_of_a_later_version_is_worked_out_anew():
    one = member(epoch=2, state=MemberState.UNKNOWN, assigned={T: (0, 1)})
    after = step(one, group(one, target={"a": {T: (0,)}}), {T: (0,)})
    assert (after.state, after.assigned) == (MemberState.STABLE, {T: (0,)})


held = st.dictionaries(st.sampled_from(BOTH), st.sets(st.integers(0, 4), min_size=1).map(lambda s: tuple(sorted(s))))


@law
@given(these=held, those=held)
def test_less_and_more_are_those_of_sets(these, those):
    def keys(one: Partitions) -> set[tuple[bytes, int]]:
        assert all(row and list(row) == sorted(row) for row in one.values())
        return {(topic_id, p) for topic_id, row in one.items() for p in row}

    assert keys(common(these, those)) == keys(these) & keys(those)
    assert keys(minus(these, those)) == keys(these) - keys(those)
    assert keys(plus(these, those)) == keys(these) | keys(those)


@law
@given(has=held, wants=held, others=held, owned=st.one_of(st.none(), held))
def test_a_step_gives_nothing_that_another_holds_and_ends_at_the_target(has, wants, others, owned):
    one = member(assigned=has)
    other = member("b", assigned=minus(others, has))
    made = group(one, other, target={"a": wants})
    after = step(one, made, owned)
    assert not common(after.assigned, other.assigned)
    made.remove("b")
    for _ in range(2):
        after = step(after, made, after.assigned)
    assert (after.epoch, after.state, after.assigned) == (2, MemberState.STABLE, plus(wants, {}))
