"""A member of the classic protocol joins a consumer group, and comes back to it."""

from __future__ import annotations

import pytest

from kaas.coordinator.announcements import MemberChange, MembersChanged
from kaas.coordinator.classic.states import State
from kaas.coordinator.modern import epochs
from tests.support.groups import RANGE
from tests.support.mixed import Mixed, settle

ALL = {"orders": (0, 1, 2, 3)}


@pytest.fixture
def both():
    return Mixed(orders=4, users=2)


@pytest.fixture
def m(both):
    """A reader that has everything."""
    one = both.consumer("orders")
    one.joins()
    assert one.held == ALL
    return one


def test_it_works(both, m):
    k = both.classic_reader("orders", names=("roundrobin", "range"))
    k.takes_id()
    assert (both.seen, list(both.modern.members)) == (("Stable", 1, 1), [m.id])
    k.joins()
    told = k.joined
    assert (told.generation, told.protocol_type, told.protocol_name) == (2, "consumer", "roundrobin")
    assert (told.leader, told.members, told.member_id) == ("", (), k.id)
    assert k.syncs().code == 0 and (k.held, k.beats()) == ({}, 0)
    settle(m)
    assert (m.held, k.beats()) == ({"orders": (0, 1)}, 27)  # what it waits for is free now
    assert (k.rejoins(), k.generation, k.beats(), both.seen) == ({"orders": (2, 3)}, 2, 0, ("Stable", 2, 2))


def test_it_gives_up_what_it_still_claims_before_it_gets_on():
    both = Mixed(orders=4)
    k = both.classic_reader("orders")
    both.stable(k, ALL)
    m = both.consumer("orders")
    m.joins()
    assert (k.rejoins(), k.generation) == ({"orders": (0, 1)}, 1)  # it came with all four
    assert (m.sends().answer.assignment, k.beats()) == (None, 27)
    assert (k.rejoins(), k.generation, k.beats()) == ({"orders": (0, 1)}, 2, 0)
    m.beats()
    assert (m.held, k.beats(), both.seen) == ({"orders": (2, 3)}, 0, ("Stable", 2, 2))


def test_one_that_comes_with_nothing_needs_one_round():
    both = Mixed(orders=4)
    k = both.classic_reader("orders")
    both.stable(k, ALL)
    m = both.consumer("orders")
    m.joins()
    k.held = {}
    assert (k.rejoins(), k.generation, k.beats()) == ({"orders": (0, 1)}, 2, 0)


def test_below_version_4_it_needs_no_id(both, m):
    k = both.classic_reader("orders", version=3)
    k.joins()
    assert k.joined.generation == 2 and both.modern.members[k.id].classic is not None
    assert k.id.startswith("client-uuid")


def test_any_id_is_good_also_that_of_a_modern_member(both, m):
    n = both.consumer("orders")
    n.joins()
    k = both.classic_reader("orders")
    k.id = "brought"
    k.joins()
    assert (k.id, k.generation, len(both.modern.members)) == ("brought", 3, 3)
    k = both.classic_reader("orders")
    k.id = m.id
    k.joins()
    assert (k.id, k.generation, len(both.modern.members)) == (m.id, 3, 3)
    assert both.modern.members[m.id].classic is not None and n.beats() == 0


def test_one_that_turned_classic_need_not_let_go_as_the_other_protocol_has_it(both, m):
    n = both.consumer("orders")
    n.joins()
    m.beats()
    assert ("revocation", "group", m.id) in both.timers
    k = both.classic_reader("orders")
    k.id, k.held = m.id, ALL
    k.joins()
    assert ("revocation", "group", m.id) not in both.timers and k.syncs().code == 0


def test_a_modern_member_with_the_id_of_a_classic_one_is_modern_from_then_on(both, m):
    k = both.classic_reader("orders")
    k.joins()
    k.syncs()
    both.consumer("users").joins()
    assert k.beats() == 27
    n = both.consumer("orders")
    n.id = k.id
    assert n.joins() == 0
    assert both.modern.members[k.id].classic is None and k.beats() == 25
    assert not {("rejoin", "group", k.id), ("resync", "group", k.id)} & both.timers.keys()


@pytest.mark.parametrize(
    ("changes", "code", "told"),
    [
        ({"protocol_type": "connect"}, 23, ""),
        ({"protocols": ()}, 23, ""),
        ({"protocols": (("range", b"\0"),)}, -1, ""),
        ({"instance_id": "unknown", "member_id": "who"}, 25, ""),
        ({"session_timeout_ms": 1}, 26, "who"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(both, m, changes, code, told):
    """Only what is wrong with the request itself is answered with the id that was sent, as by Apache."""
    asked = both.joins(**{"member_id": "who", "protocols": RANGE, **changes})
    assert (asked.code, asked.answer.member_id, asked.answer.generation) == (code, told, -1)
    assert both.seen == ("Stable", 1, 1)


def test_classic_members_have_a_protocol_in_common(both, m):
    both.classic_reader("orders", names=("range", "mine")).rejoins()
    assert both.joins(protocols=(("roundrobin", RANGE[0][1]),)).code == 23
    both.classic_reader("orders", names=("roundrobin", "mine")).rejoins()
    assert both.joins(protocols=RANGE).code == 23  # "mine" is all that is common now
    assert len(both.modern.members) == 3


def test_a_full_group_names_nobody_and_lets_its_own_come_back():
    both = Mixed(orders=4, config={"consumer_max_size": 2})
    m = both.consumer("orders")
    m.joins()
    k = both.classic_reader("orders", instance_id="i")
    k.rejoins()
    asked = both.joins(member_id="who")
    assert (asked.code, asked.answer.member_id) == (81, "")
    assert (k.joins().code, k.restarts().joins().code) == (0, 0)


def test_one_that_subscribes_to_nothing_makes_no_epoch(both, m):
    k = both.classic_reader()
    assert (k.rejoins(), k.generation, k.beats(), both.seen) == ({}, 1, 0, ("Stable", 1, 1))


def test_one_that_comes_while_the_target_rests_holds_nothing_until_it_is_made(both, m, monkeypatch):
    monkeypatch.setattr(epochs, "is_resting", lambda group, now_ms: True)
    k = both.classic_reader("orders")
    assert (k.rejoins(), k.generation, k.beats(), both.seen) == ({}, 1, 27, ("Assigning", 2, 1))
    monkeypatch.undo()
    settle(m)
    assert (k.rejoins(), k.generation) == ({"orders": (2, 3)}, 2)


def test_one_that_reads_another_topic_grows_the_epoch(both, m):
    k = both.classic_reader("orders")
    k.rejoins()
    settle(m)
    assert k.rejoins() == {"orders": (2, 3)}
    k.topics = ("users",)
    assert k.rejoins() == {}
    assert (both.modern.epoch, both.modern.members[k.id].topics) == (3, ("users",))
    k.rejoins()
    settle(m)
    assert (k.held, k.generation, m.epoch, m.held) == ({"users": (0, 1)}, 3, 3, ALL)


def test_it_has_no_pattern_and_no_assignor_of_its_own(both):
    """A classic member was taken for one that has no empty pattern.

    https://issues.apache.org/jira/browse/KAFKA-19720
    """
    m, n = both.consumer("orders", regex="u.*", assignor="range"), both.consumer("orders")
    m.joins()
    n.joins()
    k = both.classic_reader("orders")
    k.id = m.id
    k.joins()
    found = both.modern.members[m.id]
    assert (found.regex, found.assignor, both.modern.patterns, both.modern.preferences) == ("", None, {}, {})


# Static members


def test_a_static_modern_member_comes_back_classic_with_its_share(both):
    """A static member could not change from one protocol to the other.

    https://issues.apache.org/jira/browse/KAFKA-17228
    """
    a, b = both.consumer("orders", instance_id="i"), both.consumer("orders")
    a.joins()
    b.joins()
    settle(a, b)
    k = both.classic_reader("orders", instance_id="i")
    assert k.rejoins() == {"orders": (0, 1)}
    assert (k.generation, k.beats(), b.sends().answer.assignment) == (2, 0, None)
    assert (a.beats(instance_id="i"), a.beats()) == (82, 25)
    kinds = [(what.kind, what.member_id) for what in both.heard(MemberChange)][-2:]
    assert kinds == [("member_fenced", a.id), ("member_replaced", a.id)]
    again = both.classic_reader("orders", instance_id="i")
    assert (again.joins().code, k.beats(), again.generation, both.seen) == (0, 82, 2, ("Stable", 2, 2))
    assert both.joins(member_id="who", instance_id="i").code == 82
    assert (again.syncs().code, again.held) == (0, {"orders": (0, 1)})


def test_a_static_member_away_is_replaced_as_well(both, m):
    a = both.consumer("orders", instance_id="i")
    a.joins()
    settle(m, a)
    share = a.held
    a.leaves(-2)
    k = both.classic_reader("orders", instance_id="i")
    assert (k.rejoins(), k.generation) == (share, 2)


def test_the_only_modern_member_comes_back_classic_and_the_group_with_it(both):
    """Nobody asked whether the group was to be classic when a static member changed its protocol.

    https://issues.apache.org/jira/browse/KAFKA-17317
    """
    a = both.consumer("orders", instance_id="i")
    a.joins()
    k = both.classic_reader("orders", instance_id="i")
    k.joins()
    told = k.joined
    assert (told.generation, told.leader, told.protocol_name, both.kind) == (1, "", "range", ("Stable", "classic"))
    assert (k.syncs().code, k.held, k.beats()) == (0, ALL, 0)
    assert a.beats() == 69
    both.restarts()
    assert (both.kind, k.beats()) == (("Stable", "classic"), 0)


def test_when_it_reads_other_topics_the_group_rebalances(both):
    """The group kept an assignment of the topics that were read before.

    https://issues.apache.org/jira/browse/KAFKA-19546
    """
    a, other = both.consumer("orders", instance_id="i"), both.classic_reader("orders")
    a.joins()
    other.rejoins()
    k = both.classic_reader("users", instance_id="i")
    assert k.joins().waits and both.kind == ("PreparingRebalance", "classic")
    assert other.beats() == 27
    other.joins()
    assert k.joined.generation == other.generation == 3


def test_when_it_is_alone_and_reads_other_topics_it_has_the_next_generation(both):
    both.consumer("orders", instance_id="i").joins()
    k = both.classic_reader("users", instance_id="i")
    k.joins()
    assert (k.generation, k.leads, both.kind) == (2, True, ("CompletingRebalance", "classic"))


def test_when_the_target_is_old_the_group_rebalances(both):
    a, other, gone = (
        both.consumer("orders", instance_id="i"),
        both.classic_reader("orders"),
        both.classic_reader("orders"),
    )
    a.joins()
    other.rejoins()
    gone.rejoins()
    gone.leaves()
    assert both.classic_reader("orders", instance_id="i").joins().waits
    assert both.kind == ("PreparingRebalance", "classic")


def test_when_another_still_holds_what_it_is_to_give_up_the_group_rebalances(both):
    """Stable at the target as it was to be, two members would read the same partitions."""
    k = both.classic_reader("orders")
    both.stable(k, ALL)
    both.consumer("orders", instance_id="i").joins()
    swapped = both.classic_reader("orders", instance_id="i")
    assert swapped.joins().waits and both.kind == ("PreparingRebalance", "classic")


def test_a_disk_that_refuses_the_swap_is_told_and_the_group_is_written_with_the_next_generation(both):
    both.consumer("orders", instance_id="i").joins()
    k = both.classic_reader("orders", instance_id="i")
    both.journal.full = True
    assert k.joins().code == 15
    both.journal.full = False
    again = both.classic_reader("orders", instance_id="i")
    both.passes(60_000)
    again.joins()
    assert again.joined.generation > 1


# Empty groups


def test_an_empty_consumer_group_becomes_a_classic_group_that_keeps_its_offsets(both, m):
    both.commits({("orders", 0): 7}, generation=1, member_id=m.id)
    m.leaves()
    k = both.classic_reader("orders")
    k.joins()
    told = k.joined
    assert (told.generation, told.leader, [x.member_id for x in told.members]) == (1, k.id, [k.id])
    assert (both.kind, both.committed()) == (("CompletingRebalance", "classic"), {("orders", 0): 7})
    assert m.beats() == 69
    both.restarts()
    assert (both.kind, both.committed()) == (("Empty", "classic"), {("orders", 0): 7})


def test_an_empty_consumer_group_is_shown_as_a_classic_one_from_the_first_join_on(both, m):
    m.leaves()
    both.announced.clear()
    both.classic_reader("orders").takes_id()
    assert both.kind == ("Empty", "classic") and MembersChanged(member_ids=None) in both.heard(MembersChanged)


def test_an_empty_consumer_group_knows_no_ids_and_stays_one_for_who_names_one(both, m):
    m.leaves()
    assert both.joins(member_id="who").code == 25
    assert both.joins(session_timeout_ms=1).code == 26
    assert both.kind == ("Empty", "consumer")


# Durable


def test_an_answer_waits_for_the_disk(both, m):
    k = both.classic_reader("orders")
    k.takes_id()
    both.journal.held = True
    assert k.joins().waits
    both.writes()
    assert k.joined.generation == 2


def test_a_disk_that_refuses_is_told(both, m):
    k = both.classic_reader("orders")
    k.takes_id()
    both.journal.full = True
    asked = k.joins()
    assert (asked.code, asked.answer.member_id) == (15, k.id)


def test_a_restart_forgets_nobody_and_nobody_joins_again(both, m):
    k = both.classic_reader("orders")
    k.rejoins()
    settle(m)
    k.rejoins()
    both.restarts()
    assert (k.beats(), m.beats(), m.epoch, both.seen) == (0, 0, 2, ("Stable", 2, 2))
    assert both.classic_state is State.EMPTY
