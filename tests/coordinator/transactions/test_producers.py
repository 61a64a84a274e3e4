"""Who gets a transactional id: the newest producer, by a higher epoch, or by a new producer id when the epochs are used up."""

from __future__ import annotations

import pytest

from kaas.coordinator.transactions.state import LAST_EPOCH, NONE
from kaas.coordinator.transactions.states import TxnState
from kaas.errors import ErrorCode
from tests.support.groups import GROUP
from tests.support.transactions import Transactions

T0 = ("t", 0)


@pytest.fixture
def world():
    return Transactions()


# Coming


def test_a_new_id_gets_a_fresh_producer_id_and_epoch_0(world):
    producer = world.producer(timeout_ms=7_000)
    assert producer.asks(fresh_producer_id=42).code == 0
    assert producer.identity == (42, 0)
    state = world.holder().durable
    assert (state.txn_state, state.timeout_ms, state.started_at) == (TxnState.EMPTY, 7_000, 0)


def test_it_is_told_when_it_is_durable(world):
    world.journal.held = True
    asked = world.producer().asks()
    assert asked.waits
    world.writes()
    assert asked.code == 0


def test_whoever_comes_next_has_the_same_producer_id_and_the_next_epoch(world):
    first = world.producer().comes()
    second = world.producer(timeout_ms=1_000).comes()
    assert second.identity == (first.identity[0], 1)
    assert world.holder().durable.timeout_ms == 1_000


def test_ids_have_nothing_to_do_with_one_another(world):
    one, other = world.producer("pay").comes(), world.producer("ship").comes()
    assert one.identity[0] != other.identity[0]
    one.adds(T0)
    assert world.txn_state("pay") is TxnState.ONGOING and world.txn_state("ship") is TxnState.EMPTY


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"transactional_id": ""}, 42),
        ({"producer_id": 5}, 42),
        ({"epoch": 5}, 42),
        ({"timeout_ms": 0}, 50),
        ({"timeout_ms": -1}, 50),
        ({"timeout_ms": 900_001}, 50),
        ({"timeout_ms": 900_000}, 0),
    ],
    ids=str,
)
def test_a_producer_must_ask_sensibly(world, change, code):
    asked = world.producer().asks()
    assert asked.code == 0
    fields = {"producer_id": NONE, "epoch": NONE, **change}
    known = fields.pop("producer_id"), fields.pop("epoch")
    assert world.producer().asks(known, **fields).code == code
    assert world.holder().durable.epoch == (1 if code == 0 else 0)


def test_nobody_gets_an_id_while_the_state_loads(world):
    world.starts_loading()
    assert world.producer().asks().code == 14
    world.loads()
    assert world.producer().asks().code == 0


def test_an_id_that_cannot_be_read_is_not_given_anew(world):
    world.core.broken_transactions = {"pay": "its file is corrupt"}
    assert world.producer().asks().code == 14
    assert "pay" not in world.core.transactions


def test_two_who_come_at_once_do_not_get_the_same_epoch(world):
    world.journal.held = True
    first, second = world.producer(), world.producer()
    one, other = first.asks(), second.asks()
    assert one.waits and other.code == 51
    world.settle()
    world.journal.held = False
    assert one.code == 0 and second.asks().code == 0
    assert (first.identity[1], second.identity[1]) == (0, 1)


def test_an_id_that_could_not_be_written_is_not_there(world):
    world.journal.full = True
    assert world.producer().asks().code == 15
    assert not world.core.transactions
    world.journal.full = False
    producer = world.producer().comes()
    assert producer.identity[1] == 0


# Fencing


@pytest.mark.parametrize("code", [ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH])
def test_who_had_the_id_before_is_fenced_from_everything_and_changes_nothing(world, code):
    old = world.producer().comes()
    new = old.twin()
    new.comes()
    new.adds(T0)
    before = world.holder().durable
    assert old.adds(("t", 1)).code == old.ends().code == old.aborts().code == old.stages({T0: 5}).code == 90
    assert old.adds(T0, verify_only=True).code == 90
    assert old.asks(old.identity, fenced_code=code).code == code
    assert world.holder().durable == before and not world.staged()
    assert new.ends().code == 0


def test_an_open_transaction_is_aborted_first_and_the_newcomer_asks_again(world):
    old = world.producer().comes()
    old.begins_with({T0: 5})
    world.held = True
    new = old.twin()
    assert new.asks().code == 51
    assert world.txn_state() is TxnState.PREPARE_ABORT and new.asks().code == 51
    world.lets_through()
    assert world.txn_state() is TxnState.COMPLETE_ABORT and world.committed() == {}
    assert new.asks().code == 0
    assert new.identity == (old.identity[0], old.identity[1] + 2), "one for the fence, one for the newcomer"
    assert old.adds(T0).code == 90


def test_a_zombie_that_asks_for_the_id_does_not_abort_the_transaction_of_its_successor(world):
    """A decision of ours (docs/decisions): an Apache broker aborts it, whatever epoch the zombie names."""
    old = world.producer().comes()
    new = old.twin()
    new.comes()
    new.adds(T0)
    assert old.recovers().code == 90
    assert world.txn_state() is TxnState.ONGOING and new.ends().code == 0


# Recovery (KIP-360)


def test_a_producer_that_says_who_it_is_goes_on_with_the_next_epoch(world):
    producer = world.producer().comes()
    assert producer.recovers().code == 0
    assert producer.identity[1] == 1


def test_a_producer_that_did_not_hear_its_answer_is_told_again_and_takes_no_further_epoch(world):
    producer = world.producer().comes()
    was = producer.identity
    producer.recovers()
    for _ in range(2):
        assert producer.asks(was).code == 0
        assert producer.identity == (was[0], 1)


def test_that_holds_over_a_restart(world):
    producer = world.producer().comes()
    was = producer.identity
    world.journal.held = True
    producer.recovers()
    world.writes()
    world.journal.held = False
    world.restarts()
    assert producer.asks(was).code == 0 and producer.identity == (was[0], 1)


def test_who_was_replaced_meanwhile_is_fenced(world):
    producer = world.producer().comes()
    was = producer.identity
    producer.recovers()
    world.producer().comes()
    for identity in (was, producer.identity):
        assert producer.twin(identity).recovers().code == 90


def test_a_recovery_aborts_what_its_own_producer_left_open(world):
    producer = world.producer().comes()
    producer.begins_with({T0: 5})
    assert producer.recovers().code == 51
    assert world.txn_state() is TxnState.COMPLETE_ABORT and world.committed() == {}
    assert producer.recovers().code == 0
    assert producer.identity[1] == 1


def test_a_late_copy_of_a_recovery_does_not_abort_what_came_after_it(world):
    producer = world.producer().comes()
    was = producer.identity
    producer.recovers()
    producer.adds(T0)
    assert producer.twin(was).recovers().code == 90
    assert world.txn_state() is TxnState.ONGOING and producer.ends().code == 0


def test_who_did_not_hear_the_end_of_its_transaction_may_recover_with_what_it_knows(world):
    producer = world.producer(transactions=2).comes()
    was = producer.identity
    producer.adds(T0)
    producer.ends()
    assert producer.asks(was).code == 0
    assert producer.identity == (was[0], was[1] + 1) and world.txn_state() is TxnState.EMPTY


def test_who_is_known_to_nobody_gets_a_new_identity(world):
    """It recovers from an id that expired meanwhile."""
    producer = world.producer()
    assert producer.asks((4_242, 7), fresh_producer_id=42).code == 0
    assert producer.identity == (42, 0)
    assert producer.asks((4_242, 7)).code == 90


@pytest.mark.parametrize("known", [(4_242, 0), (100, 1), (100, 5)])
def test_who_names_another_identity_than_the_present_one_is_fenced(world, known):
    producer = world.producer()
    producer.asks(fresh_producer_id=100)
    assert producer.twin().asks(known).code == 90
    assert world.holder().durable.identity == (100, 0)


# A producer id that is used up


def test_the_epoch_after_the_last_one_is_0_of_a_new_producer_id(world):
    old = world.worn()
    new = old.twin()
    assert new.asks(fresh_producer_id=999).code == 0
    assert new.identity == (999, 0)
    assert old.adds(T0).code == old.ends(bumps_epoch=False).code == 49
    assert old.recovers().code == 90
    assert old.twin((old.identity[0], 5)).recovers().code == 90
    assert new.recovers().code == 0 and new.identity == (999, 1)


def test_who_uses_up_its_own_producer_id_is_told_the_new_one_again(world):
    producer = world.worn()
    was = producer.identity
    assert producer.asks(was, fresh_producer_id=999).code == 0
    for _ in range(2):
        assert producer.asks(was).code == 0
        assert producer.identity == (999, 0)
    assert producer.twin((was[0], 5)).recovers().code == 90
    assert producer.recovers().code == 0 and producer.identity == (999, 1)
    assert producer.twin(was).recovers().code == 90


def test_a_fence_in_the_last_epoch_is_one_above_it_and_the_newcomer_begins_a_producer_id(world):
    old = world.worn()
    old.adds(T0)
    new = old.twin()
    assert new.asks().code == 51
    assert world.holder().durable.epoch == LAST_EPOCH + 1
    assert [epoch for _, _, epoch, _ in world.marked] == [LAST_EPOCH + 1]
    assert old.aborts().code == 90, "there is no epoch to go on with"
    assert old.twin((old.identity[0], LAST_EPOCH + 1)).adds(T0).code == 90, "the epoch of the fence is nobody's"
    assert new.asks(fresh_producer_id=999).code == 0 and new.identity == (999, 0)


def test_who_took_too_long_in_the_last_epoch_recovers_with_a_new_producer_id(world):
    producer = world.worn(timeout_ms=1_000)
    producer.adds(T0)
    world.passes(1_000)
    assert world.txn_state() is TxnState.COMPLETE_ABORT
    was = producer.identity
    assert producer.asks(was, fresh_producer_id=999).code == 0
    assert producer.asks(was).code == 0 and producer.identity == (999, 0)
    assert producer.adds(T0).code == 0 and producer.ends().code == 0


def test_what_a_used_up_producer_id_staged_ends_under_it(world):
    producer = world.worn()
    producer.begins_with({T0: 5})
    assert producer.ends(fresh_producer_id=999).code == 0
    assert producer.identity == (999, 0) and world.committed() == {T0: 5} and not world.staged(GROUP)
