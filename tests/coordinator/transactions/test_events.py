"""What has a default and what must be said."""

from __future__ import annotations

import msgspec

from kaas.coordinator.transactions.events import AddAnswer, AddToTransaction, MarkersFailed, ProducerAnswer
from kaas.errors import ErrorCode


def test_an_addition_adds_and_is_told_of_a_fence_unless_it_says_otherwise():
    event = AddToTransaction(reply_to=None, transactional_id="pay", producer_id=7, epoch=1)
    assert (event.partitions, event.groups, event.verify_only) == ((), (), False)
    assert event.fenced_code is ErrorCode.PRODUCER_FENCED


def test_a_refused_producer_has_no_identity():
    assert ProducerAnswer(ErrorCode.INVALID_REQUEST) == ProducerAnswer(ErrorCode.INVALID_REQUEST, -1, -1)


def test_nothing_is_missing_unless_it_is_named():
    assert AddAnswer(ErrorCode.NONE).missing == ()


def test_a_failure_names_partitions_and_groups_alike():
    event = MarkersFailed(transactional_id="pay", producer_id=7, epoch=1, untold=(("t", 0), "g"))
    assert msgspec.structs.asdict(event)["untold"] == (("t", 0), "g")
