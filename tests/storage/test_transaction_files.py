"""The file of a transactional id: its record to JSON and back, and what is no such file."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator.transactions.state import TransactionGone, TransactionState
from kaas.coordinator.transactions.states import TxnState
from kaas.storage.group_files import Unreadable, head_of
from kaas.storage.transaction_files import transaction_bytes, transaction_of
from tests.support.laws import law

PATH = Path("payments.json")

texts = st.text(max_size=12)
ids = st.integers(-1, 2**63 - 1)
epochs = st.integers(-1, 2**15 - 1)
times = st.integers(0, 2**53)
small = st.integers(0, 2**31 - 1)
states = st.builds(
    TransactionState,
    texts,
    ids,
    epochs,
    epochs,
    ids,
    small,
    st.sampled_from([state.value for state in TxnState]),
    st.lists(st.tuples(texts, small), max_size=3).map(tuple),
    st.lists(texts, max_size=3).map(tuple),
    times,
    times,
    ids,
)
records = states | st.builds(TransactionGone, texts, times)


@given(records, small, small)
@law
def test_a_record_comes_back_as_it_was(record, epoch, version):
    data = transaction_bytes(record, epoch, version)
    head, found = transaction_of(data, PATH)
    assert (head.order, found) == ((epoch, version), record)
    assert head_of(data).order == (epoch, version)


def test_a_person_can_read_the_file():
    state = TransactionState("pay", 7, 3, 2, -1, 60_000, "Ongoing", (("a/b", 0),), ("g",), 5, 6)
    assert msgspec.json.decode(transaction_bytes(state, 2, 9)) == {
        "coordinator_epoch": 2,
        "version": 9,
        "transactional_id": "pay",
        "producer_id": 7,
        "producer_epoch": 3,
        "last_epoch": 2,
        "previous_producer_id": -1,
        "timeout_ms": 60_000,
        "state": "Ongoing",
        "partitions": ["a/b/0"],
        "groups": ["g"],
        "started_at": 5,
        "updated_at": 6,
        "next_producer_id": -1,
        "deleted_at": None,
    }


@pytest.mark.parametrize(
    "change",
    [{"state": "Confused"}, {"partitions": ["t"]}, {"producer_id": "x"}, {"transactional_id": None}],
)
def test_what_cannot_be_understood_is_never_no_transaction(change):
    state = TransactionState("pay", 7, 3, 2, -1, 60_000, "Ongoing", (("t", 0),), ("g",), 5, 6)
    data = msgspec.json.encode(msgspec.json.decode(transaction_bytes(state, 2, 9)) | change)
    with pytest.raises(Unreadable, match=r"payments\.json|no topic"):
        transaction_of(data, PATH)


@given(st.binary(max_size=80))
@law
def test_garbage_is_unreadable_and_nothing_else(data):
    with pytest.raises(Unreadable):
        transaction_of(data, PATH)


def test_a_file_of_before_a_field_was_added_is_read():
    state = TransactionState("pay", 7, 3, 2, -1, 60_000, "Ongoing", (("t", 0),), ("g",), 5, 6)
    old = msgspec.json.decode(transaction_bytes(state, 2, 9))
    del old["next_producer_id"]
    assert transaction_of(msgspec.json.encode(old), PATH)[1] == state
