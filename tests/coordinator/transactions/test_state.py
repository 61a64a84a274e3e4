"""The value that is durable: who holds an id, who held it just before, and how it changes."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator import records
from kaas.coordinator.transactions.state import LAST_EPOCH, NONE, TransactionState, fresh
from kaas.coordinator.transactions.states import TxnState
from kaas.errors import ErrorCode
from tests.support.laws import law

FENCED = ErrorCode.PRODUCER_FENCED

keys = st.lists(st.tuples(st.sampled_from("tu"), st.integers(0, 3)), max_size=4).map(tuple)
names = st.lists(st.sampled_from(["g", "h", "t"]), max_size=3).map(tuple)


def state(**changes) -> TransactionState:
    return msgspec.structs.replace(fresh("pay", 7, 60_000, 5), **changes)


def test_a_fresh_id_is_nobodys():
    new = fresh("pay", 7, 60_000, 5)
    assert (new.txn_state, new.identity, new.last_identity, new.partitions, new.groups) == (
        TxnState.EMPTY,
        (7, NONE),
        None,
        (),
        (),
    )
    assert (new.timeout_ms, new.started_at, new.updated_at) == (60_000, 0, 5)


def test_the_last_identity_is_of_the_same_producer_id_until_that_is_used_up():
    assert state(epoch=4, last_epoch=3).last_identity == (7, 3)
    assert state(epoch=4, last_epoch=NONE).last_identity is None
    assert state(epoch=0, previous_producer_id=6, last_epoch=LAST_EPOCH).last_identity == (6, LAST_EPOCH)
    assert state(epoch=1, previous_producer_id=6, last_epoch=0).last_identity == (7, 0)


@pytest.mark.parametrize(
    ("producer_id", "epoch", "code"),
    [(7, 4, ErrorCode.NONE), (7, 3, FENCED), (7, 5, FENCED), (7, NONE, FENCED), (8, 4, 49), (8, 3, 49)],
)
def test_only_who_holds_the_id_may_act(producer_id, epoch, code):
    assert state(epoch=4).refusal(producer_id, epoch, FENCED) == code


def test_the_epoch_of_a_fence_is_nobodys():
    assert state(epoch=LAST_EPOCH).refusal(7, LAST_EPOCH, FENCED) is ErrorCode.NONE
    assert state(epoch=LAST_EPOCH + 1).refusal(7, LAST_EPOCH + 1, FENCED) is FENCED


@pytest.mark.parametrize(("epoch", "used_up"), [(LAST_EPOCH - 1, False), (LAST_EPOCH, True), (LAST_EPOCH + 1, True)])
def test_a_producer_id_is_used_up_when_no_epoch_is_left_to_give(epoch, used_up):
    assert state(epoch=epoch).is_used_up is used_up


@given(keys, names, keys, names)
@law
def test_a_transaction_holds_what_is_in_it_and_nothing_else(partitions, groups, asked, asked_groups):
    """A group and a topic of one name are not the same."""
    open_one = state(state="Ongoing", partitions=partitions, groups=groups)
    inside = all(one in partitions for one in asked) and all(one in groups for one in asked_groups)
    assert open_one.holds(asked, asked_groups) is inside


def test_a_move_changes_what_it_names_and_nothing_else():
    before = state(epoch=1)
    after = before.moved(TxnState.ONGOING, groups=("g",))
    assert after == msgspec.structs.replace(before, state="Ongoing", groups=("g",))
    assert before.txn_state is TxnState.EMPTY


def test_a_record_of_before_a_field_was_added_is_read():
    """A journal may be older than the program."""
    old = msgspec.msgpack.encode(["transaction", "pay", 7, 3, 2, NONE, 60_000, "Ongoing", [["t", 0]], ["g"], 5, 6])
    found = records.decode(old)
    assert found == state(epoch=3, last_epoch=2, state="Ongoing", partitions=(("t", 0),), groups=("g",)).moved(
        TxnState.ONGOING, started_at=5, updated_at=6
    )
    assert isinstance(found, TransactionState) and found.next_producer_id == NONE
