"""A classic group becomes a consumer group: when it may, what becomes of its members, and that nothing of it is lost."""

from __future__ import annotations

import pytest

from kaas.coordinator.announcements import RebalanceCompleted
from kaas.coordinator.classic.states import State
from kaas.coordinator.config import MigrationPolicy
from kaas.coordinator.offset_entry import OffsetKey
from tests.support.mixed import Held, Mixed, share_of

ALL: Held = {"orders": (0, 1, 2, 3)}
FIRST: OffsetKey = ("orders", 0)


def stable(**config):
    """A classic group of one member that reads everything, and somebody under KIP-848 who has not come yet."""
    both = Mixed(orders=4, config=config)
    k = both.classic_reader("orders")
    both.stable(k, ALL)
    return both, k, both.consumer("orders")


def test_it_works():
    both, k, m = stable()
    assert both.kind == ("Stable", "classic")
    assert m.joins() == 0
    assert (k.generation, m.epoch, m.told, m.held) == (1, 2, True, {})
    assert (both.kind, both.seen) == (("Reconciling", "consumer"), ("Reconciling", 2, 2))
    shown = both.modern.members[k.id]
    assert (shown.classic.session_timeout_ms, shown.epoch, shown.topics) == (30_000, 1, ("orders",))


def test_it_grows_the_epoch_once():
    """The topics were taken for new after the change, and the epoch grew again.

    https://issues.apache.org/jira/browse/KAFKA-18687
    """
    both, _, m = stable()
    m.joins()
    for _ in range(3):
        m.acks()
    assert both.seen == ("Reconciling", 2, 2)


def test_classic_members_go_on_and_are_told_to_join_again():
    both, k, m = stable()
    m.joins()
    assert [k.beats(), k.beats()] == [27, 27]
    assert k.commits(7).answer.code == 0 and both.committed() == {("t", 0): 7}


def test_who_waits_is_sent_back():
    both, k, m = stable()
    late = both.classic_reader("orders")
    late.joins()
    assert both.classic_state is State.PREPARING_REBALANCE
    m.joins()
    assert (late.last_join.code, late.last_join.answer.member_id) == (27, late.id)
    assert (late.rejoins(), late.generation) == ({}, m.epoch)
    assert (k.beats(), len(both.modern.members)) == (27, 3)
    (superseded,) = [done for done in both.heard(RebalanceCompleted) if done.outcome == "superseded"]
    assert superseded.kind == "classic"


def test_a_parked_sync_is_sent_back():
    both = Mixed(orders=2)
    k, late = both.classic_reader("orders"), both.classic_reader("orders")
    both.in_one_generation(k, late)
    follower = late if k.leads else k
    asked = follower.syncs()
    assert asked.waits
    both.consumer("orders").joins()
    assert asked.code == 27


@pytest.mark.parametrize(("user_data", "code"), [(b"", 0), (b"\0", 69), (b"custom", 69)])
def test_user_data_in_an_assignment_forbids_it_and_disturbs_nobody(user_data, code):
    """An upgrade lost what an assignor of the clients' own kept there.

    https://issues.apache.org/jira/browse/KAFKA-18134
    """
    both = Mixed(orders=2)
    k = both.classic_reader("orders")
    both.stable(k, share_of({"orders": (0, 1)}, user_data))
    assert both.consumer("orders").joins() == code
    assert (k.beats(), both.kind[1]) == ((0, "classic") if code else (27, "consumer"))


def test_an_assignment_that_cannot_be_read_forbids_it():
    both = Mixed(orders=2)
    k = both.classic_reader("orders")
    both.stable(k, b"\0")
    m = both.consumer("orders")
    assert m.joins() == 69 and "bytes" in m.asked.answer.message
    assert (k.beats(), both.kind) == (0, ("Stable", "classic"))


def test_members_without_partitions_do_not_stop_it():
    """An upgrade failed at a member that was assigned nothing.

    https://issues.apache.org/jira/browse/KAFKA-17733
    """
    both = Mixed(orders=1)
    k, idle, mute = (both.classic_reader("orders") for _ in range(3))
    both.stable(k, {"orders": (0,)}, idle, {}, mute, b"")
    m = both.consumer("orders")
    assert m.joins() == 0
    assert (idle.rejoins(), mute.rejoins(), k.rejoins()) == ({}, {}, {"orders": (0,)})
    assert {x.generation for x in (k, idle, mute)} == {m.epoch}
    assert both.seen == ("Stable", m.epoch, m.epoch)


def test_a_group_of_another_protocol_type_stays_as_it_is():
    both = Mixed(orders=1)
    k = both.classic_reader("orders")
    k.joins(protocol_type="connect")
    assert both.consumer("orders").joins() == 69
    assert (k.beats(), both.kind) == (0, ("CompletingRebalance", "classic"))


@pytest.mark.parametrize("policy", MigrationPolicy)
def test_the_settings_have_the_last_word(policy):
    _, k, m = stable(consumer_migration_policy=policy)
    assert m.joins() == (0 if policy.upgrades else 69)
    assert k.beats() == (27 if policy.upgrades else 0)
    assert policy.upgrades or "settings" in m.asked.answer.message


def test_a_group_that_is_too_large_stays_as_it_is():
    both = Mixed(orders=2, config={"consumer_max_size": 1})
    both.in_one_generation(both.classic_reader("orders"), both.classic_reader("orders"))
    m = both.consumer("orders")
    assert m.joins() == 69 and "too many" in m.asked.answer.message


def test_a_group_without_room_for_one_more_stays_as_it_is():
    both, k, m = stable(consumer_max_size=1)
    assert m.joins() == 81
    assert (k.beats(), both.kind) == (0, ("Stable", "classic"))


def test_only_a_join_that_passes_every_check_changes_the_group():
    both, k, m = stable()
    assert [m.beats(epoch=1), m.beats(epoch=1, member_id=k.id), m.leaves()] == [69, 69, 69]
    assert [m.joins(regex="("), m.joins(assignor="nobody's")] == [128, 112]
    assert (k.beats(), both.kind) == (0, ("Stable", "classic"))


@pytest.mark.parametrize("policy", MigrationPolicy)
def test_an_empty_group_changes_whatever_the_settings_say_and_keeps_its_offsets(policy):
    both, k, m = stable(consumer_migration_policy=policy)
    k.commits(5, topic="orders")
    k.leaves()
    assert both.kind == ("Empty", "classic")
    assert m.joins() == 0
    assert (m.epoch, m.held, both.kind) == (1, ALL, ("Stable", "consumer"))
    both.restarts()
    assert (both.committed(), both.seen) == ({FIRST: 5}, ("Stable", 1, 1))


def test_offsets_from_before_any_member_are_kept():
    both = Mixed(orders=1)
    both.commits({FIRST: 8})
    m = both.consumer("orders")
    assert (m.joins(), m.epoch, both.committed()) == (0, 1, {FIRST: 8})


def test_a_static_classic_member_comes_back_modern_with_its_share():
    both = Mixed(orders=4)
    k, other = both.classic_reader("orders", instance_id="i"), both.classic_reader("orders", instance_id="j")
    both.stable(k, {"orders": (0, 1)}, other, {"orders": (2, 3)})
    m = both.consumer("orders", instance_id="i")
    assert m.joins() == 0
    assert (m.held, both.seen) == ({"orders": (0, 1)}, ("Stable", k.generation, k.generation))
    assert (k.beats(), k.beats(instance_id=None), other.beats()) == (82, 25, 0)


def test_a_pending_id_is_as_good_as_any_afterwards():
    both, _, m = stable()
    late = both.classic_reader("orders")
    late.takes_id()
    m.joins()
    assert (late.rejoins(), late.generation) == ({}, 3)


# Durable


def test_a_restart_after_it_brings_back_the_members_of_both_protocols():
    both, k, m = stable()
    m.joins()
    both.restarts()
    assert both.seen == ("Reconciling", 2, 2)
    assert (k.beats(), m.beats(), m.epoch) == (27, 0, 2)


def test_a_restart_before_it_is_durable_leaves_the_classic_group():
    both, k, m = stable()
    both.journal.held = True
    assert m.sends(**m.first()).waits and both.kind[1] == "consumer"
    both.restarts()
    assert (both.kind, k.beats()) == (("Stable", "classic"), 0)


def test_a_disk_that_refuses_it_is_told_and_the_next_record_holds_all_of_it():
    both, k, m = stable()
    both.journal.full = True
    assert m.joins() == 15
    both.journal.full = False
    assert (m.joins(), k.beats()) == (0, 27)
    both.restarts()
    assert sorted(both.modern.members) == sorted([k.id, m.id])


def test_an_assignment_on_its_way_to_the_disk_does_not_come_into_force_over_it():
    both = Mixed(orders=2)
    k = both.classic_reader("orders")
    k.joins()
    both.journal.held = True
    asked = k.syncs({k: share_of({"orders": (0, 1)})})
    m = both.consumer("orders")
    joined = m.sends(**m.first())
    both.journal.held = False
    both.settle()
    assert (asked.code, joined.code, both.kind[1]) == (27, 0, "consumer")
    assert both.modern.members[k.id].assigned == {}


def test_a_number_that_may_have_been_given_out_is_not_an_epoch_again():
    both, k, m = stable()
    k.joins()  # a generation that never becomes Stable
    spent = k.generation
    both.restarts()
    assert (both.kind[0], m.joins()) == ("Stable", 0)
    assert m.epoch == spent + 1 and k.beats() == 22
