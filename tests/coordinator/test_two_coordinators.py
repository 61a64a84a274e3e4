"""A transaction of one coordinator and a group of another: each dies and comes back; what was staged is neither lost nor kept.

K17: offsets of a transaction were lost when the two coordinators were different brokers, or when one of them crashed.
"""

from __future__ import annotations

from typing import Any

import pytest

from kaas.coordinator.effects import SendMarkers
from kaas.coordinator.events import EndStaged, Event, StageOffsets
from kaas.coordinator.queries import fetch_offsets
from kaas.coordinator.transactions.states import TxnState
from kaas.errors import ErrorCode
from tests.support.groups import GROUP, Groups
from tests.support.shell import Asked
from tests.support.transactions import Transactions

T0, T1 = ("t", 0), ("t", 1)
RETRY_MS = 2_000


class Apart(Transactions):
    """The coordinator of the transactions. The groups have one of their own, `elsewhere`, with a journal of its own."""

    def __init__(self) -> None:
        self.elsewhere = Groups()
        super().__init__()

    def follows(self, event: Event) -> None:
        if isinstance(event, StageOffsets):
            self.elsewhere.submit(event)
        else:
            super().follows(event)

    def _end_staged(self, effect: SendMarkers, group_id: str, put: Any) -> None:
        told = Asked(learn=lambda code: put(code is ErrorCode.NONE))
        self.elsewhere.submit(
            EndStaged(reply_to=told, group_id=group_id, producer_id=effect.producer_id, committed=effect.committed)
        )

    def seen(self) -> tuple[dict[Any, int], set[Any]]:
        """What is committed, and what is not stable."""
        found = fetch_offsets(self.elsewhere.core, GROUP, [T0, T1], require_stable=True)
        return self.elsewhere.committed(), set(found.unstable)


STAGED = ({T0: 1}, {T0, T1})
committing = pytest.mark.parametrize(
    ("committed", "ended"), [(True, ({T0: 5, T1: 6}, set())), (False, ({T0: 1}, set()))], ids=["commit", "abort"]
)


@pytest.fixture
def world():
    world = Apart()
    world.elsewhere.commits({T0: 1})
    return world


@pytest.fixture
def producer(world):
    producer = world.producer(timeout_ms=900_000).comes()
    assert producer.stages({T0: 5, T1: 6}).code == 0
    assert world.seen() == STAGED
    return producer


@pytest.mark.parametrize("who", [("group",), ("transaction",), ("group", "transaction")], ids="+".join)
@committing
def test_what_is_staged_outlives_both(world, producer, committed, ended, who):
    for dies in who:
        (world.elsewhere if dies == "group" else world).restarts()
    assert world.seen() == STAGED
    assert producer.ends(committed=committed).code == 0
    assert world.seen() == ended
    world.elsewhere.restarts()
    assert world.seen() == ended


@committing
def test_a_group_that_is_away_is_told_of_the_end_when_it_is_back(world, producer, committed, ended):
    world.elsewhere.starts_loading()
    asked = producer.ends(committed=committed)
    world.passes(3 * RETRY_MS)
    assert asked.waits and world.holder().durable.txn_state in (TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT)
    world.elsewhere.loads()
    assert world.seen() == STAGED
    world.passes(RETRY_MS)
    assert asked.code == 0 and world.seen() == ended


@committing
def test_an_end_that_was_decided_and_not_told_is_told_in_the_next_life(world, producer, committed, ended):
    world.held = True
    producer.ends(committed=committed)
    assert world.seen() == STAGED
    world.restarts()
    world.lets_through()
    assert world.seen() == ended


@committing
def test_an_end_that_was_told_and_not_noted_is_told_again_without_harm(world, producer, committed, ended):
    world.journal.held = True
    producer.ends(committed=committed)
    world.writes()
    assert world.seen() == ended and world.holder().durable.txn_state in (
        TxnState.PREPARE_COMMIT,
        TxnState.PREPARE_ABORT,
    )
    world.elsewhere.commits({T0: 9})
    world.journal.held = False
    world.restarts()
    assert world.holder().durable.txn_state in (TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT)
    assert world.elsewhere.committed()[T0] == 9
