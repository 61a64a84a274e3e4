"""Transactional ids on a volume: the newest record counts, wherever it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator.records import GroupEmpty
from kaas.coordinator.transactions.state import TransactionGone, TransactionState, fresh
from kaas.storage.checkpoint_files import TransactionJob
from kaas.storage.load import Needs
from kaas.storage.transaction_files import TRANSACTIONS_FOLDER
from tests.support.laws import law
from tests.support.volume import Change, Volume


@pytest.fixture
def volume(tmp_path):
    return Volume(tmp_path)


def state(epoch: int, name: str = "pay") -> TransactionState:
    return TransactionState(name, 7, epoch, -1, -1, 60_000, "Empty", (), (), 0, 5)


def change(version: int, name: str = "pay", epoch: int = 1) -> Change:
    """Its producer epoch is its version, so that one can be told from another."""
    return Change(name, version, state(version, name), epoch)


def job(version: int, record=None, epoch: int = 1) -> TransactionJob:
    return TransactionJob(record=record or state(version), epoch=epoch, version=version)


def file_of(volume: Volume, name: str = "pay"):
    return volume.folder / TRANSACTIONS_FOLDER / f"{name}.json"


def test_the_newest_record_of_journals_and_files_counts(volume):
    volume.write(job(3))
    path = volume.journal(change(2), change(5))
    found = volume.load()
    assert found.transactions == {"pay": (state(5), (1, 5))}
    assert found.needed == {path: Needs(transactions={"pay": (1, 5)})}
    volume.write(job(6))
    found = volume.load()
    assert found.transactions == {"pay": (state(6), (1, 6))} and found.needed == {path: Needs()}


def test_a_file_of_an_older_epoch_does_not_replace_a_newer_one(volume):
    volume.write(job(1, state(9), epoch=2))
    volume.write(job(8, epoch=1))
    assert volume.load().transactions["pay"] == (state(9), (2, 1))


def test_an_id_that_is_gone_does_not_come_back_from_another_brokers_journal(volume):
    gone = TransactionGone("pay", 9)
    volume.write(job(4, gone))
    volume.journal(change(3), broker="2")
    assert volume.load().transactions == {"pay": (gone, (1, 4))}


def test_a_group_and_a_transactional_id_may_have_the_same_name(volume):
    path = volume.journal(Change("same", 1, GroupEmpty(3, "consumer", 5)), change(2, "same"))
    found = volume.load()
    assert found.groups["same"].classic.generation == 3 and found.transactions["same"][0] == state(2, "same")
    assert found.needed == {path: Needs(groups={"same": (1, 1)}, transactions={"same": (1, 2)})}


def test_a_corrupt_file_is_set_aside_and_its_id_is_broken_and_stays_so(volume):
    volume.write(job(1), TransactionJob(record=state(2, "fine"), epoch=1, version=2))
    file_of(volume).write_bytes(b"{")
    for _ in range(2):
        found = volume.load()
        assert list(found.broken_transactions) == ["pay"] and list(found.transactions) == ["fine"]
        assert not found.broken
    assert not file_of(volume).exists() and list(file_of(volume).parent.glob("pay.json.corrupt*"))


def corrupt(packed: bytes) -> bytes:
    return packed[:-1] + bytes([packed[-1] ^ 1])


def test_a_lost_record_breaks_the_id_unless_a_newer_one_is_there(volume):
    path = volume.journal(change(1))
    path.write_bytes(path.read_bytes() + corrupt(change(2).packed()) + change(3, "other").packed())
    found = volume.load()
    assert list(found.broken_transactions) == ["pay"] and not found.broken and list(found.transactions) == ["other"]
    path = volume.journal(change(4), number=2)
    found = volume.load()
    assert not found.broken_transactions and found.transactions["pay"][0] == state(4)


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 9)), unique=True, max_size=8), st.data())
@law
def test_the_order_in_which_records_lie_does_not_matter(tmp_path_factory, orders, data):
    """Files that are older than the journal, journals of several brokers, in any mix."""
    volume = Volume(tmp_path_factory.mktemp("volume"))
    journals: dict[str, list[Change]] = {"1": [], "2": []}
    for epoch, version in orders:
        record = state(epoch * 100 + version)
        if data.draw(st.booleans()):
            volume.write(TransactionJob(record=record, epoch=epoch, version=version))
        else:
            journals[data.draw(st.sampled_from("12"))].append(Change("pay", version, record, epoch))
    for broker, changes in journals.items():
        volume.journal(*changes, broker=broker)
    found = volume.load().transactions
    newest = max(orders, default=None)
    assert found == ({} if newest is None else {"pay": (state(newest[0] * 100 + newest[1]), newest)})


def test_a_fresh_id_is_a_state_as_well(volume):
    new = fresh("pay", 3, 60_000, 5)
    volume.write(job(1, new))
    assert volume.load().transactions["pay"][0] == new
