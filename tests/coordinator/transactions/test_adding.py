"""Additions: who may add, when it is answered, and what may be written on the strength of it."""

from __future__ import annotations

import pytest

from kaas.coordinator import timers
from kaas.coordinator.transactions.events import AddToTransaction
from kaas.coordinator.transactions.states import TxnState
from kaas.errors import ErrorCode
from tests.support.groups import GROUP
from tests.support.transactions import Transactions

T0, T1, T2 = ("t", 0), ("t", 1), ("t", 2)


@pytest.fixture
def world():
    return Transactions()


@pytest.fixture
def producer(world):
    return world.producer().comes()


def test_the_first_addition_begins_the_transaction_and_its_clock(world, producer):
    assert producer.adds(T0).code == 0
    state = world.holder().durable
    assert (state.txn_state, state.partitions, state.started_at) == (TxnState.ONGOING, (T0,), world.wall_ms)
    assert world.timers[timers.transaction("pay")] == world.now_ms + producer.timeout_ms


def test_later_ones_extend_it_and_leave_the_clock(world, producer):
    producer.adds(T0)
    began_ms = world.now_ms
    world.passes(1_000)
    assert producer.adds(T1, T0, groups=(GROUP,)).code == 0
    state = world.holder().durable
    assert (state.partitions, state.groups) == ((T0, T1), (GROUP,))
    assert state.started_at == began_ms + world.wall_offset_ms and state.updated_at == world.wall_ms
    assert world.timers[timers.transaction("pay")] == began_ms + producer.timeout_ms


def test_a_new_transaction_begins_with_nothing_of_the_one_before(world, producer):
    producer.adds(T0, groups=(GROUP,))
    producer.ends()
    producer.adds(T1)
    assert (world.holder().durable.partitions, world.holder().durable.groups) == ((T1,), ())


def test_what_is_there_already_is_answered_at_once(world, producer):
    producer.adds(T0, groups=(GROUP,))
    written = len(world.journal.written)
    world.journal.held = True
    assert producer.adds(T0).code == producer.adds(groups=(GROUP,)).code == 0
    assert len(world.journal.written) == written and not world.journal.waiting


def test_an_addition_is_answered_when_it_is_durable(world, producer):
    world.journal.held = True
    asked = producer.adds(T0)
    assert asked.waits
    world.writes()
    assert asked.code == 0


def test_additions_need_not_wait_for_one_another(world, producer):
    world.journal.held = True
    asked = [producer.adds(T0), producer.adds(T1), producer.adds(groups=(GROUP,))]
    assert all(one.waits for one in asked)
    world.settle()
    assert [one.code for one in asked] == [0, 0, 0]
    assert world.holder().durable.partitions == (T0, T1)


def test_the_same_addition_again_is_not_answered_before_it_is_durable(world, producer):
    """The first may fail: an answer that only looked at what was decided would be a promise without a record."""
    world.journal.held = True
    first, second = producer.adds(T0), producer.adds(T0)
    assert second.waits
    world.fails(1)
    assert first.code == 15 and second.waits
    world.settle()
    assert second.code == 0 and world.holder().durable.partitions == (T0,)


def test_an_addition_is_not_answered_by_a_later_record_of_somebody_else(world, producer):
    world.journal.held = True
    first = producer.adds(T0)
    world.commits({T1: 1}, group_id="other")
    second = producer.adds(T0)
    world.fails(1)
    world.writes(1)
    assert first.code == 15 and second.waits, "the commit between them is durable, the addition is not"
    world.fails(1)
    assert second.code == 15 and world.txn_state() is TxnState.EMPTY


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
@pytest.mark.parametrize("verify_only", [False, True])
def test_only_who_holds_the_id_adds_or_asks(world, producer, change, code, verify_only):
    producer_id, epoch = producer.identity
    who = {"transactional_id": "pay", "producer_id": producer_id, "epoch": epoch}
    asked = world.ask(AddToTransaction, **{**who, **change}, partitions=(T0,), verify_only=verify_only)
    assert asked.code == code and world.txn_state() is TxnState.EMPTY


def test_nothing_is_added_while_the_state_loads(world, producer):
    world.starts_loading()
    assert producer.adds(T0).code == 14
    world.loads()
    assert producer.adds(T0).code == 0


def test_nothing_is_added_to_an_id_that_cannot_be_read(world, producer):
    world.core.broken_transactions = {"pay": "its file is corrupt"}
    assert producer.adds(T0).code == 14
    assert world.producer("other").comes().adds(T0).code == 0


@pytest.mark.parametrize("committed", [True, False])
def test_nothing_is_added_while_the_transaction_before_ends(world, producer, committed):
    producer.transactions = 1
    producer.adds(T0)
    world.held = True
    producer.ends(committed=committed)
    assert producer.adds(T1).code == producer.adds(T0, verify_only=True).code == 51
    world.lets_through()
    assert producer.adds(T1).code == 0


def test_nobody_is_fenced_by_a_decision_that_is_not_durable(world, producer):
    world.journal.held = True
    newcomer = producer.twin()
    asked = newcomer.asks()
    assert producer.adds(T0).code == 51, "whether it is fenced is not known yet"
    world.fails()
    assert asked.code == 15
    world.journal.held = False
    assert producer.adds(T0).code == 0


# Asking whether something is in


def test_asking_tells_what_is_not_in_and_adds_nothing(world, producer):
    producer.adds(T0, groups=(GROUP,))
    asked = producer.adds(T0, T1, groups=(GROUP, "other"), verify_only=True)
    assert asked.code == 0 and asked.answer.missing == (T1, "other")
    assert world.holder().durable.partitions == (T0,)


@pytest.mark.parametrize("ended", [False, True])
def test_without_an_open_transaction_everything_is_missing(world, producer, ended):
    if ended:
        producer.adds(T0)
        producer.ends()
    assert producer.adds(T0, verify_only=True).answer.missing == (T0,)


def test_what_is_not_durable_is_not_in(world, producer):
    """A batch that is written because of an addition which then fails would hold its readers back for ever."""
    world.journal.held = True
    producer.adds(T0)
    assert producer.adds(T0, verify_only=True).answer.missing == (T0,)
    world.settle()
    assert producer.adds(T0, verify_only=True).answer.missing == ()


def test_offsets_are_not_staged_on_the_strength_of_an_addition_that_fails(world, producer):
    producer.transactions = 1
    world.journal.held = True
    added = producer.adds(groups=(GROUP,))
    assert producer.stages({T0: 5}).code == 48
    world.fails()
    assert added.code == 15
    world.journal.held = False
    world.passes(10 * producer.timeout_ms)
    assert not world.staged()
