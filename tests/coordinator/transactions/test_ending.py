"""The end of a transaction: decided, told to everybody, then known to be over; once, whatever is lost on the way."""

from __future__ import annotations

import pytest

from kaas.coordinator import timers
from kaas.coordinator.transactions.deciding import RETRY_MS
from kaas.coordinator.transactions.events import EndTransaction, MarkersFailed, MarkersWritten
from kaas.coordinator.transactions.state import LAST_EPOCH
from kaas.coordinator.transactions.states import TxnState
from kaas.errors import ErrorCode
from tests.support.groups import GROUP
from tests.support.transactions import Transactions

T0, T1 = ("t", 0), ("t", 1)


@pytest.fixture
def world():
    return Transactions()


@pytest.fixture(params=[1, 2])
def producer(world, request):
    return world.producer(transactions=request.param).comes()


@pytest.fixture
def second(world):
    """A producer of transactions version 2."""
    return world.producer(transactions=2).comes()


@pytest.fixture
def first(world):
    """A producer of transactions version 1."""
    return world.producer(transactions=1).comes()


# Both versions


@pytest.mark.parametrize("committed", [True, False])
def test_everything_that_the_transaction_touched_is_told_before_the_producer_is(world, producer, committed):
    producer.adds(T0, T1)
    producer.begins_with({T0: 5})
    world.held = True
    asked = producer.ends(committed=committed)
    assert asked.waits and not world.marked and world.unstable(T0)
    world.lets_through()
    assert asked.code == 0 and not world.unstable(T0)
    assert [(place, kind) for place, _, _, kind in world.marked] == [(T0, committed), (T1, committed)]
    assert world.committed() == ({T0: 5} if committed else {})


def test_markers_go_out_when_the_decision_is_durable_and_the_answer_when_the_end_is(world, producer):
    producer.adds(T0)
    world.journal.held = True
    asked = producer.ends()
    assert not world.marked
    world.writes()
    assert world.marked and asked.waits and world.txn_state() is TxnState.COMPLETE_COMMIT
    world.writes()
    assert asked.code == 0


def test_an_end_leaves_no_clock_and_remembers_when_it_began(world, producer):
    producer.adds(T0)
    began_at = world.wall_ms
    world.passes(100)
    producer.ends()
    assert timers.transaction("pay") not in world.timers
    assert (world.holder().durable.started_at, world.holder().durable.partitions) == (began_at, ())


def test_transactions_follow_one_another(world, producer):
    for offset in range(3):
        producer.begins_with({T0: offset})
        assert producer.ends(committed=offset != 1).code == 0
    assert world.committed() == {T0: 2}


def test_the_opposite_end_cannot_be_had_any_more(world, producer):
    producer.adds(T0)
    was = producer.twin()
    producer.ends()
    assert was.aborts().code == 48
    assert world.holder().durable.txn_state is TxnState.COMPLETE_COMMIT


def test_while_the_end_is_on_its_way_to_the_disk_nobody_is_told_what_it_is(world, producer):
    """It may fail, and then the other end is as good as this one."""
    producer.adds(T0)
    world.journal.held = True
    asked = producer.ends()
    assert producer.ends().code == producer.aborts().code == 51
    world.fails()
    assert asked.code == 15
    world.journal.held = False
    assert producer.aborts().code == 0


def test_while_markers_are_on_their_way_the_same_end_is_busy_and_the_other_impossible(world, producer):
    producer.adds(T0)
    world.held = True
    producer.ends()
    assert producer.ends().code == 51 and producer.aborts().code == 48
    assert producer.recovers().code == 51
    world.lets_through()
    assert world.txn_state() is TxnState.COMPLETE_COMMIT


def test_a_transaction_without_anything_in_it_ends_as_well(world, producer):
    producer.adds()
    assert world.txn_state() is TxnState.ONGOING
    assert producer.ends().code == 0


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"transactional_id": ""}, 42),
        ({"transactional_id": "unknown"}, 49),
        ({"producer_id": 4_242}, 49),
        ({"epoch": 1}, 90),
        ({"epoch": -1}, 90),
        ({"epoch": 1, "fenced_code": ErrorCode.INVALID_PRODUCER_EPOCH}, 47),
    ],
    ids=str,
)
def test_only_who_holds_the_id_ends_its_transaction(world, producer, change, code):
    producer.adds(T0)
    who = {"transactional_id": "pay", "producer_id": producer.identity[0], "epoch": producer.identity[1]}
    about = {"committed": True, "bumps_epoch": producer.transactions == 2, "fresh_producer_id": 9}
    fenced = {"fenced_code": ErrorCode.PRODUCER_FENCED}
    assert world.ask(EndTransaction, **{**who, **about, **fenced, **change}).code == code
    assert world.txn_state() is TxnState.ONGOING


def test_nothing_is_ended_while_the_state_loads(world, producer):
    producer.adds(T0)
    world.starts_loading()
    assert producer.ends().code == 14
    world.loads()
    assert producer.ends().code == 0


# Version 1: the epoch stays


@pytest.mark.parametrize("committed", [True, False])
def test_in_version_1_ending_twice_is_harmless(world, first, committed):
    first.adds(T0)
    was = first.identity
    for _ in range(3):
        assert first.ends(committed=committed).code == 0
        assert first.identity == was
    assert [epoch for _, _, epoch, _ in world.marked] == [was[1]]


@pytest.mark.parametrize("committed", [True, False])
def test_in_version_1_there_is_no_end_without_a_beginning(first, committed):
    assert first.ends(committed=committed).code == 48


# Version 2: the epoch moves (KIP-890)


@pytest.mark.parametrize("committed", [True, False])
def test_in_version_2_an_end_gives_the_next_epoch_and_its_markers_carry_it(world, second, committed):
    second.adds(T0)
    was = second.identity
    assert second.ends(committed=committed).code == 0
    assert second.identity == (was[0], was[1] + 1)
    assert world.marked == [(T0, *second.identity, committed)]


@pytest.mark.parametrize("committed", [True, False])
def test_an_end_that_was_not_heard_gives_the_same_epoch_again(world, second, committed):
    second.adds(T0)
    unheard = second.twin()
    second.ends(committed=committed)
    written = len(world.journal.written)
    for _ in range(2):
        again = unheard.twin()
        assert again.ends(committed=committed).code == 0
        assert again.identity == second.identity
    assert unheard.twin().ends(committed=not committed).code == 48
    assert len(world.journal.written) == written and len(world.marked) == 1


def test_that_holds_over_a_restart(world, second):
    second.adds(T0)
    unheard = second.twin()
    second.ends()
    world.restarts()
    assert unheard.ends().code == 0 and unheard.identity == second.identity


def test_an_end_of_before_cannot_end_the_next_transaction(world, second):
    second.adds(T0)
    late = second.twin()
    second.ends()
    second.adds(T1)
    assert late.ends().code == late.aborts().code == 90
    assert world.txn_state() is TxnState.ONGOING


def test_version_2_aborts_nothing_to_fence_what_may_be_under_way_but_does_not_commit_it(world, second):
    assert second.ends().code == 48
    was = second.identity
    late = second.twin()
    assert second.aborts().code == 0
    assert second.identity == (was[0], was[1] + 1) and not world.marked
    assert late.adds(T0).code == 90
    assert late.aborts().code == 0 and late.identity == second.identity, "its answer was lost"
    assert second.aborts().code == 0, "and again, after an end"


def test_a_transaction_that_is_over_cannot_be_committed_again_in_its_new_epoch(second):
    second.adds(T0)
    second.ends()
    assert second.ends().code == 48


def test_versions_may_change_from_one_transaction_to_the_next(world, first):
    first.adds(T0)
    assert first.ends(bumps_epoch=True).code == 0
    assert first.identity[1] == 1
    first.adds(T0)
    assert first.ends(bumps_epoch=False).code == 0 and first.identity[1] == 1
    assert first.ends(bumps_epoch=True).code == 48


# A producer id that is used up


@pytest.mark.parametrize("committed", [True, False])
def test_the_end_in_the_last_epoch_gives_a_new_producer_id_and_is_marked_under_the_old_one(world, committed):
    producer = world.worn()
    was = producer.identity
    producer.begins_with({T0: 5})
    producer.adds(T0)
    unheard = producer.twin()
    assert producer.ends(committed=committed, fresh_producer_id=999).code == 0
    assert producer.identity == (999, 0)
    assert world.marked == [(T0, was[0], LAST_EPOCH + 1, committed)]
    assert world.committed() == ({T0: 5} if committed else {}) and not world.staged()
    assert unheard.twin().ends(committed=committed).code == 0
    assert unheard.twin().ends(committed=not committed).code == 48
    assert unheard.adds(T0).code == 49
    unheard.ends(committed=committed)
    assert unheard.identity == (999, 0)
    assert producer.adds(T1).code == 0 and producer.ends().code == 0


def test_while_that_end_is_told_it_is_busy(world):
    producer = world.worn()
    producer.adds(T0)
    world.held = True
    producer.ends(fresh_producer_id=999)
    assert world.holder().durable.identity == (producer.identity[0], LAST_EPOCH + 1)
    assert producer.ends().code == 51 and producer.aborts().code == 48
    world.restarts()
    world.lets_through()
    assert world.holder().durable.identity == (999, 0)
    assert producer.ends().code == 0 and producer.identity == (999, 0)


def test_after_a_rotation_transactions_of_version_1_are_marked_under_the_new_producer_id(world):
    producer = world.worn(transactions=1)
    assert producer.asks(producer.identity, fresh_producer_id=999).code == 0
    producer.adds(T0)
    assert producer.ends().code == 0
    assert world.marked == [(T0, 999, 0, True)]


def test_an_end_that_has_no_new_producer_id_at_hand_is_asked_for_again(world):
    producer = world.worn()
    producer.adds(T0)
    assert producer.ends(fresh_producer_id=-1).code == 51
    assert world.txn_state() is TxnState.ONGOING
    assert producer.ends().code == 0


# Time


def test_a_transaction_that_takes_too_long_is_aborted_and_its_producer_fenced(world, first):
    first.begins_with({T0: 5})
    world.passes(first.timeout_ms - 1)
    assert world.txn_state() is TxnState.ONGOING
    world.passes(1)
    assert world.txn_state() is TxnState.COMPLETE_ABORT and world.committed() == {} and not world.staged()
    assert first.ends().code == first.adds(T0).code == 90
    assert first.recovers().code == 0 and first.adds(T0).code == 0


def test_in_version_2_its_abort_is_taken_for_one_that_was_not_heard(world, second):
    """It wanted an abort, it got one, and goes on."""
    second.begins_with({T0: 5})
    world.passes(second.timeout_ms)
    assert second.ends().code == 48
    assert second.aborts().code == 0
    assert second.adds(T0).code == 0


def test_a_restart_leaves_an_abandoned_transaction_what_is_left_of_its_time(world, producer):
    producer.begins_with({T0: 5})
    world.passes(producer.timeout_ms - 1_000)
    world.restarts()
    assert world.txn_state() is TxnState.ONGOING and world.unstable(T0)
    world.passes(999)
    assert world.txn_state() is TxnState.ONGOING
    world.passes(1)
    assert world.txn_state() is TxnState.COMPLETE_ABORT and not world.unstable(T0)


def test_a_transaction_whose_time_ran_out_while_nobody_was_there_is_aborted_at_once(world, producer):
    producer.begins_with({T0: 5})
    world.starts_loading()
    world.now_ms += 10 * producer.timeout_ms
    world.loads()
    world.passes(0)
    assert world.txn_state() is TxnState.COMPLETE_ABORT and not world.staged()


def test_a_producer_goes_on_with_its_transaction_after_a_restart(world, producer):
    producer.begins_with({T0: 5})
    world.restarts()
    assert producer.stages({T1: 6}).code == 0
    assert producer.ends().code == 0
    assert world.committed() == {T0: 5, T1: 6}


# Markers that fail


@pytest.mark.parametrize("refusing", [T1, GROUP])
def test_markers_that_fail_are_sent_again_and_the_others_are_not(world, producer, refusing):
    producer.adds(T0, T1)
    producer.begins_with({T0: 5})
    world.refusing = {refusing}
    asked = producer.ends()
    for _ in range(3):
        world.passes(RETRY_MS)
    assert asked.waits and world.txn_state() is TxnState.PREPARE_COMMIT
    world.refusing = set()
    world.passes(RETRY_MS)
    assert asked.code == 0 and world.committed() == {T0: 5}
    assert sorted(place for place, *_ in world.marked) == [T0, T1], "nobody is told twice"


def test_an_end_of_which_only_the_note_fails_is_noted_later_and_nobody_told_again(world, producer):
    producer.adds(T0)
    world.journal.held = True
    asked = producer.ends()
    world.writes()
    world.fails()
    assert asked.waits and len(world.marked) == 1
    world.journal.held = False
    world.passes(RETRY_MS)
    assert asked.code == 0 and len(world.marked) == 1


def test_a_group_that_still_loads_is_told_later(world, producer):
    producer.begins_with({T0: 5})
    world.core.broken = {GROUP: "its file is corrupt"}
    asked = producer.ends()
    world.passes(3 * RETRY_MS)
    assert asked.waits
    world.core.broken = {}
    world.passes(RETRY_MS)
    assert asked.code == 0 and world.committed() == {T0: 5}


@pytest.mark.parametrize("committed", [True, False])
def test_a_restart_goes_on_with_what_was_ending(world, producer, committed):
    producer.adds(T0)
    producer.begins_with({T0: 5})
    world.held = True
    producer.ends(committed=committed)
    world.restarts()
    assert world.unstable(T0)
    world.lets_through()
    assert world.committed() == ({T0: 5} if committed else {}) and not world.staged()
    assert world.holder().durable.txn_state is (TxnState.COMPLETE_COMMIT if committed else TxnState.COMPLETE_ABORT)


@pytest.mark.parametrize("records", range(6))
def test_a_crash_between_any_two_records_leads_to_the_one_end_or_the_other(world, records, producer):
    """Begin, stage, decide, fold in, complete: with the decision in the journal it is a commit, without it an abort."""
    kept = len(world.journal.written) + records
    producer.adds(T0, groups=(GROUP,))
    producer.stages({T0: 5})
    producer.ends()
    assert len(world.journal.written) >= kept
    world.journal.written = world.journal.written[:kept]
    world.restarts()
    world.passes(producer.timeout_ms)
    assert world.committed() == ({T0: 5} if records >= 3 else {})
    assert not world.staged() and world.txn_state() not in (TxnState.ONGOING, TxnState.PREPARE_COMMIT)


def test_markers_of_another_end_change_nothing(world, second):
    second.adds(T0)
    world.held = True
    second.ends()
    end = {"transactional_id": "pay", "producer_id": second.identity[0], "epoch": second.identity[1] + 1}
    for other in ({"epoch": 0}, {"producer_id": 4_242}, {"transactional_id": "unknown"}):
        world.submit(MarkersWritten(**{**end, **other}))
        world.submit(MarkersFailed(**{**end, **other}, untold=(T0,)))
        assert world.txn_state() is TxnState.PREPARE_COMMIT and timers.markers("pay") not in world.timers
    world.lets_through()
    world.submit(MarkersWritten(**end))
    assert world.txn_state() is TxnState.COMPLETE_COMMIT
