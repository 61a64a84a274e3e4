"""The table of states: every cell of it, taken by the coordinator itself."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from kaas.coordinator.transactions.state import TransactionState, fresh
from kaas.coordinator.transactions.states import COMPLETE, ENDING, TABLE, TxnState
from tests.support.transactions import Producer, Transactions

T0 = ("t", 0)
EXITS = [(state, exit) for state, row in TABLE.items() for exit in row.exits]

EXPIRATION_MS = 10_000


def arrive(state: TxnState) -> tuple[Transactions, Producer]:
    """A producer whose transactional id is in this state."""
    world = Transactions(transactional_id_expiration_ms=EXPIRATION_MS, transaction_remove_expired_interval_ms=1_000)
    producer = world.producer().comes()
    if state is not TxnState.EMPTY:
        producer.adds(T0)
    committed = state in (TxnState.PREPARE_COMMIT, TxnState.COMPLETE_COMMIT)
    world.held = state in ENDING
    if state in (*ENDING, *COMPLETE):
        producer.ends(committed=committed)
    assert world.txn_state() is state
    return world, producer


LEAVE: dict[TxnState, Callable[[Transactions, Producer], object]] = {
    TxnState.EMPTY: lambda world, producer: producer.recovers(),
    TxnState.ONGOING: lambda world, producer: producer.adds(("t", 1)),
    TxnState.PREPARE_COMMIT: lambda world, producer: producer.ends(),
    TxnState.PREPARE_ABORT: lambda world, producer: producer.aborts(),
    TxnState.COMPLETE_COMMIT: lambda world, producer: world.lets_through(),
    TxnState.COMPLETE_ABORT: lambda world, producer: world.lets_through(),
    TxnState.DEAD: lambda world, producer: world.passes(2 * EXPIRATION_MS),
}
"""What leads into a state, from any that may go there."""


@pytest.mark.parametrize(("before", "after"), EXITS, ids=lambda state: state.value)
def test_every_exit_is_taken(before, after):
    world, producer = arrive(before)
    world.held = after in ENDING
    LEAVE[after](world, producer)
    if after is TxnState.DEAD:
        assert "pay" not in world.core.transactions
    else:
        assert world.txn_state() is after


def in_state(state: TxnState) -> TransactionState:
    return msgspec.structs.replace(fresh("pay", 7, 60_000, 5), state=state.value)


@pytest.mark.parametrize("before", TxnState)
@pytest.mark.parametrize("after", TxnState)
def test_an_exit_that_the_table_does_not_have_is_a_fault_of_ours(before, after):
    if after in TABLE[before].exits:
        assert in_state(before).moved(after).txn_state is after
    else:
        with pytest.raises(AssertionError, match=f"{before.value} to {after.value}"):
            in_state(before).moved(after)


def test_every_state_says_how_it_is_entered():
    assert set(TABLE) == set(TxnState) and all(row.enters for row in TABLE.values())


def test_the_words_are_kafkas():
    assert [state.value for state in TxnState] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
    ]


def test_only_an_idle_id_goes_and_from_nowhere_comes_it_back():
    assert {state for state, row in TABLE.items() if TxnState.DEAD in row.exits} == {TxnState.EMPTY, *COMPLETE}
    assert TABLE[TxnState.DEAD].exits == ()
