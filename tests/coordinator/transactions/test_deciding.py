"""A journal that refuses: memory keeps what is durable, whoever asked may try again, and the clock runs on."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator import timers
from kaas.coordinator.transactions.deciding import RETRY_MS
from kaas.coordinator.transactions.states import ENDING, TxnState
from tests.support.groups import GROUP
from tests.support.laws import law
from tests.support.transactions import Producer, Transactions

T0, T1 = ("t", 0), ("t", 1)
CLOCK = timers.transaction("pay")


@pytest.fixture
def world():
    return Transactions()


STEPS: dict[str, Any] = {
    "a new id": (lambda p: None, lambda p: p.asks()),
    "the next epoch": (lambda p: p.comes(), lambda p: p.asks()),
    "a recovery": (lambda p: p.comes(), lambda p: p.recovers()),
    "a beginning": (lambda p: p.comes(), lambda p: p.adds(T0)),
    "an addition": (lambda p: p.comes().adds(T0), lambda p: p.adds(T1)),
    "a commit": (lambda p: p.comes().adds(T0), lambda p: p.ends()),
    "an abort": (lambda p: p.comes().adds(T0), lambda p: p.aborts()),
    "an abort of nothing": (lambda p: p.comes(), lambda p: p.aborts()),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_cannot_be_written_changes_nothing_and_can_be_taken_later(world, step):
    prepare, act = STEPS[step]
    producer = world.producer()
    prepare(producer)
    before = dict(world.durable_transactions())
    world.journal.full = True
    assert act(producer).code == 15
    assert {name: holder.decided for name, holder in world.core.transactions.items()} == before
    world.journal.full = False
    assert act(producer).code == 0


def test_a_fence_that_cannot_be_written_fences_nobody(world):
    producer = world.producer().comes()
    producer.adds(T0)
    world.journal.full = True
    assert producer.twin().asks().code == 51
    world.journal.full = False
    assert world.txn_state() is TxnState.ONGOING and producer.adds(T1).code == 0
    assert producer.ends().code == 0


def test_a_timeout_that_cannot_be_written_is_tried_again(world):
    producer = world.producer(timeout_ms=1_000).comes()
    producer.adds(T0)
    world.journal.full = True
    world.passes(1_000 + 3 * RETRY_MS)
    assert world.txn_state() is TxnState.ONGOING and world.timers[CLOCK] <= world.now_ms + RETRY_MS
    world.journal.full = False
    world.passes(RETRY_MS)
    assert world.txn_state() is TxnState.COMPLETE_ABORT


def test_an_end_that_cannot_be_written_leaves_the_transaction_the_rest_of_its_time(world):
    producer = world.producer(timeout_ms=60_000).comes()
    producer.adds(T0)
    began_ms = world.now_ms
    world.passes(10_000)
    world.journal.full = True
    assert producer.ends().code == 15
    assert world.timers[CLOCK] == began_ms + 60_000
    world.journal.full = False
    world.passes(40_000)
    assert producer.ends().code == 0


def test_a_beginning_that_cannot_be_written_leaves_no_clock(world):
    producer = world.producer().comes()
    world.journal.held = True
    asked = producer.adds(T0)
    assert CLOCK in world.timers
    world.fails()
    assert asked.code == 15 and CLOCK not in world.timers


def test_an_addition_that_fails_is_in_the_transaction_with_one_that_was_built_on_it(world):
    """A record says all that is in the transaction, so the later one makes the earlier one so as well."""
    producer = world.producer().comes()
    world.journal.held = True
    first, second = producer.adds(T0), producer.adds(T1)
    world.fails(1)
    assert first.code == 15 and second.waits
    world.writes()
    assert second.code == 0 and world.holder().durable.partitions == (T0, T1)


def test_when_all_that_is_in_flight_fails_nothing_was_decided(world):
    producer = world.producer().comes()
    world.journal.held = True
    asked = [producer.adds(T0), producer.adds(T1), producer.ends()]
    world.fails(2)
    assert world.txn_state() in ENDING, "the end is still on its way"
    world.fails(1)
    assert [one.code for one in asked] == [15, 15, 15]
    assert world.txn_state() is TxnState.EMPTY and world.holder().decided == world.holder().durable
    assert CLOCK not in world.timers


def test_an_end_may_be_durable_when_the_additions_before_it_are_not(world):
    producer = world.producer().comes()
    world.journal.held = True
    first, end = producer.adds(T0), producer.ends()
    world.fails(1)
    world.settle()
    assert (first.code, end.code) == (15, 0)
    assert [place for place, *_ in world.marked] == [T0], "a marker too many does no harm, one too few would"


ACTS = ("comes", "recovers", "adds", "stages", "commits", "aborts", "zombie", "passes", "writes", "fails", "restarts")


def act(world: Transactions, producer: Producer, zombie: Producer, what: str, number: int) -> None:
    if what == "comes":
        producer.asks()
    elif what == "recovers":
        producer.recovers()
    elif what == "adds":
        producer.adds(("t", number))
    elif what == "stages":
        producer.adds(groups=(GROUP,))
        producer.stages({("t", number): number})
    elif what in ("commits", "aborts"):
        producer.ends(committed=what == "commits")
    elif what == "zombie":
        zombie.identity = (producer.identity[0], producer.identity[1] - 1)
        zombie.ends(committed=bool(number % 2))
    elif what == "passes":
        world.passes(1_000 * number)
    elif what == "restarts":
        world.restarts()
    elif world.journal.waiting:
        count = min(number, len(world.journal.waiting))
        (world.writes if what == "writes" else world.fails)(count)


@given(st.sampled_from((1, 2)), st.lists(st.tuples(st.sampled_from(ACTS), st.integers(1, 4)), max_size=40))
@law
def test_whatever_happens_everything_is_ended_in_the_end(protocol, steps):
    """No lost answer, failed write or restart leaves a transaction open, an offset staged or a producer without an answer."""
    world = Transactions()
    producer = world.producer(transactions=protocol, timeout_ms=5_000)
    zombie = producer.twin()
    world.journal.held = True
    for what, number in steps:
        act(world, producer, zombie, what, number)
    world.journal.held = False
    world.settle()
    world.passes(20_000)
    assert not world.staged()
    for holder in world.core.transactions.values():
        assert holder.decided == holder.durable and holder.ending is None
        assert holder.decided.txn_state not in (TxnState.ONGOING, *ENDING)
    assert producer.asks().code == 0 and producer.adds(T0).code == 0 and producer.ends().code == 0
