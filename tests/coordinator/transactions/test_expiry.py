"""Ids that nobody uses any more are forgotten; those that are in use never."""

from __future__ import annotations

import pytest

from kaas.coordinator import timers
from kaas.coordinator.events import TimerExpired
from kaas.coordinator.transactions import expiry
from kaas.coordinator.transactions.states import TxnState
from tests.support.transactions import Transactions

T0 = ("t", 0)
EXPIRATION_MS, INTERVAL_MS = 100_000, 10_000


@pytest.fixture
def world():
    return Transactions(
        transactional_id_expiration_ms=EXPIRATION_MS, transaction_remove_expired_interval_ms=INTERVAL_MS
    )


def test_an_idle_id_goes_after_its_time_and_durably_so(world):
    world.producer().comes()
    world.passes(EXPIRATION_MS - 1)
    assert "pay" in world.core.transactions
    world.passes(INTERVAL_MS)
    assert not world.core.transactions and not world.durable_transactions()
    world.restarts()
    assert not world.core.transactions


@pytest.mark.parametrize("committed", [True, False])
def test_the_time_counts_from_the_last_change(world, committed):
    producer = world.producer(transactions=2).comes()
    world.passes(EXPIRATION_MS - INTERVAL_MS)
    producer.adds(T0)
    producer.ends(committed=committed)
    world.passes(EXPIRATION_MS - INTERVAL_MS)
    assert producer.adds(T0).code == 0
    producer.ends()
    world.passes(EXPIRATION_MS + INTERVAL_MS)
    assert not world.core.transactions


def test_a_restart_does_not_count_it_anew(world):
    world.producer().comes()
    world.passes(EXPIRATION_MS - INTERVAL_MS)
    world.restarts()
    world.passes(INTERVAL_MS)
    assert not world.core.transactions


def test_who_comes_back_later_is_known_to_nobody_and_begins_anew(world):
    producer = world.producer().comes()
    world.passes(EXPIRATION_MS + INTERVAL_MS)
    assert producer.adds(T0).code == producer.ends().code == 49
    assert producer.recovers().code == 0
    assert producer.identity[1] == 0 and producer.adds(T0).code == 0


def test_an_open_transaction_keeps_its_id(world):
    producer = world.producer(timeout_ms=900_000).comes()
    producer.adds(T0)
    world.passes(3 * EXPIRATION_MS)
    assert world.txn_state() is TxnState.ONGOING and producer.ends().code == 0


def test_a_transaction_that_cannot_end_keeps_its_id(world):
    producer = world.producer().comes()
    producer.adds(T0)
    world.refusing = {T0}
    producer.ends()
    world.passes(3 * EXPIRATION_MS)
    assert world.txn_state() is TxnState.PREPARE_COMMIT


def test_an_id_that_is_about_to_be_used_stays(world):
    producer = world.producer().comes()
    world.passes(EXPIRATION_MS - 1)
    world.journal.held = True
    asked = producer.adds(T0)
    world.passes(INTERVAL_MS)
    world.settle()
    assert asked.code == 0 and world.txn_state() is TxnState.ONGOING


def test_while_an_id_goes_it_takes_no_requests_and_if_it_cannot_go_it_stays(world):
    producer = world.producer().comes()
    world.journal.held = True
    world.passes(EXPIRATION_MS + INTERVAL_MS)
    assert producer.adds(T0).code == producer.ends().code == producer.asks().code == 51
    world.fails()
    world.journal.held = False
    assert producer.adds(T0).code == 0 and producer.ends().code == 0


def test_an_id_that_goes_is_tried_again_at_the_next_round(world):
    world.producer().comes()
    world.journal.full = True
    world.passes(EXPIRATION_MS + INTERVAL_MS)
    assert "pay" in world.core.transactions
    world.journal.full = False
    world.passes(INTERVAL_MS)
    assert not world.core.transactions


def test_a_round_goes_in_small_steps(world, monkeypatch):
    monkeypatch.setattr(expiry, "IDS_PER_STEP", 2)
    for number in range(5):
        world.producer(f"pay-{number}").comes()
    world.now_ms += EXPIRATION_MS
    left = []
    for _ in range(3):
        world.submit(TimerExpired(key=timers.TRANSACTION_EXPIRY))
        left.append((len(world.core.transactions), world.timers[timers.TRANSACTION_EXPIRY] - world.now_ms))
    assert left == [(3, 1), (1, 1), (0, INTERVAL_MS)]


def test_an_id_that_went_between_two_steps_is_passed_over(world, monkeypatch):
    monkeypatch.setattr(expiry, "IDS_PER_STEP", 1)
    for number in range(2):
        world.producer(f"pay-{number}").comes()
    world.submit(TimerExpired(key=timers.TRANSACTION_EXPIRY))
    del world.core.transactions["pay-1"]
    world.journal.written = [row for row in world.journal.written if row[0] != "pay-1"]
    world.submit(TimerExpired(key=timers.TRANSACTION_EXPIRY))
    assert list(world.core.transactions) == ["pay-0"]
