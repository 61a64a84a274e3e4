"""When the files of groups are written, and when journal files may go."""

import json

import msgspec
import pytest

from kaas.broker.checkpoints import Checkpoints
from kaas.coordinator import replay
from kaas.coordinator.config import CoordinatorConfig
from kaas.coordinator.coordinator import Coordinator
from kaas.coordinator.effects import Persist
from kaas.coordinator.offset_entry import OffsetEntry
from kaas.coordinator.records import GroupDeleted, OffsetsCommitted
from kaas.coordinator.transactions.state import TransactionGone, TransactionState, fresh
from kaas.storage.load import Loaded, Needs
from kaas.storage.transaction_files import transaction_of
from tests.support.disk import obstructed
from tests.support.waiting import until_async

EPOCH = 3


class Desk:
    """Checkpoints of a coordinator whose groups the test changes."""

    def __init__(self, folder, interval_ms=10):
        self.folder = folder
        self.journals = folder / "__journal" / "1"
        self.journals.mkdir(parents=True, exist_ok=True)
        self.core = Coordinator(CoordinatorConfig())
        self.checkpoints = Checkpoints(self.core, folder, self.journals, interval_ms)
        self.version = 0

    def journal(self, number=1):
        path = self.journals / f"{number:020d}.log"
        path.touch()
        return path

    def change(self, group_id, record, number=1):
        """A record of a group became durable, and is applied."""
        self.version += 1
        replay.apply(self.core.groups, group_id, record, 0)
        if group_id in self.core.groups:
            self.core.groups[group_id].epoch, self.core.groups[group_id].version = EPOCH, self.version
        self.checkpoints.changed([Persist(self.version, group_id, EPOCH, record)], self.journal(number))

    def commit(self, offset, group_id="g", number=1):
        entry = OffsetEntry(offset=offset, leader_epoch=-1, metadata="", committed_at=5)
        self.change(group_id, OffsetsCommitted(offsets=[("t", 0, entry)]), number)

    def offsets(self, group_id="g"):
        """What the file of a group says, null if there is none."""
        path = self.folder / "__consumer_offsets" / f"{group_id}.json"
        return json.loads(path.read_text())["offsets"] if path.exists() else None


@pytest.fixture
async def make(tmp_path):
    desks = []

    def start(**options):
        desks.append(Desk(tmp_path, **options))
        return desks[-1]

    yield start
    for desk in desks:
        await desk.checkpoints.stop()


async def test_a_changed_group_is_written_after_the_interval(make):
    desk = make()
    desk.commit(7)
    assert desk.offsets() is None
    await until_async(lambda: desk.offsets() == {"t/0": 7})


async def test_a_stop_writes_what_is_due(make):
    desk = make(interval_ms=3_600_000)
    desk.commit(7)
    await desk.checkpoints.stop()
    assert desk.offsets() == {"t/0": 7}
    desk.checkpoints = make().checkpoints


async def test_more_groups_than_fit_one_batch_are_all_written(make):
    desk = make()
    for n in range(250):
        desk.commit(n, f"g{n}")
    await until_async(lambda: all(desk.offsets(f"g{n}") == {"t/0": n} for n in range(250)))


async def test_what_changes_while_a_round_is_written_is_for_the_next_round(make):
    """However busy a group is, its file is written once per interval."""
    desk, batches = make(), []
    write = desk.checkpoints._writer.write

    async def watched(jobs, files):
        batches.append([job.group_id for job in jobs])
        if len(batches) == 1:
            desk.commit(8, "g0")
        return await write(jobs, files)

    desk.checkpoints._writer.write = watched
    for n in range(250):
        desk.commit(n, f"g{n}")
    await until_async(lambda: desk.offsets("g0") == {"t/0": 8})
    first_round = [group_id for jobs in batches[:3] for group_id in jobs]
    assert len(first_round) == len(set(first_round)) == 250 and batches[3] == ["g0"]


async def test_a_deleted_group_loses_its_offsets_and_keeps_a_tombstone(make):
    desk = make()
    desk.commit(7)
    await until_async(lambda: desk.offsets() is not None)
    desk.change("g", GroupDeleted(at=9, why="deleted"))
    await until_async(lambda: desk.offsets() is None)
    assert "deleted" in (desk.folder / "__groups" / "g.json").read_text()


async def test_a_group_made_anew_after_its_deletion_has_nothing_of_its_past(make):
    desk = make(interval_ms=3_600_000)
    desk.commit(7)
    desk.change("g", GroupDeleted(at=9, why="deleted"))
    desk.commit(8)
    await desk.checkpoints.stop()
    assert desk.offsets() == {"t/0": 8}
    desk.checkpoints = make().checkpoints


async def test_a_journal_file_goes_when_every_group_in_it_is_written(make):
    desk = make()
    desk.commit(1, "a", number=1)
    desk.commit(1, "b", number=1)
    desk.commit(2, "a", number=2)
    first, second = desk.journal(1), desk.journal(2)
    await until_async(lambda: not first.exists())
    assert second.exists(), "the newest is being appended to"
    assert desk.offsets("a") == {"t/0": 2} and desk.offsets("b") == {"t/0": 1}


async def test_a_journal_file_goes_although_its_groups_go_on_changing(make):
    desk = make()
    write, turns = desk.checkpoints._writer.write, iter(range(2, 1_000))

    async def busy(jobs, files):
        done = await write(jobs, files)
        desk.commit(next(turns), number=2)
        return done

    desk.checkpoints._writer.write = busy
    first = desk.journal(1)
    desk.commit(1, number=1)
    await until_async(lambda: not first.exists())
    assert desk.journal(2).exists()
    desk.checkpoints._writer.write = write


async def test_no_journal_file_goes_while_files_cannot_be_written_and_writing_is_tried_again(make, tmp_path):
    desk = make()
    with obstructed(tmp_path / "__consumer_offsets"):
        desk.commit(1, number=1)
        desk.commit(2, number=2)
        await until_async(lambda: desk.checkpoints._failing)
        assert desk.journal(1).exists()
    await until_async(lambda: desk.offsets() == {"t/0": 2} and not (desk.journals / f"{1:020d}.log").exists())


async def test_what_a_load_found_uncovered_is_written_and_its_files_go(make):
    desk = make()
    entry = OffsetEntry(offset=4, leader_epoch=-1, metadata="", committed_at=5)
    replay.apply(desk.core.groups, "g", OffsetsCommitted(offsets=[("t", 0, entry)]), 0)
    desk.core.groups["g"].epoch, desk.core.groups["g"].version = 2, 8
    old = desk.journal(1)
    desk.checkpoints.found(Loaded(needed={old: Needs({"g": (2, 8), "gone": (2, 7)})}))
    desk.commit(9, "h", number=2)
    await until_async(lambda: desk.offsets() == {"t/0": 4} and not old.exists())
    assert "deleted" in (desk.folder / "__groups" / "gone.json").read_text()


async def test_files_of_other_brokers_and_files_set_aside_are_never_removed(make):
    desk = make()
    other = desk.folder / "__journal" / "2" / f"{1:020d}.log"
    other.parent.mkdir()
    other.touch()
    aside = [desk.journals / f"{1:020d}.log.corrupt", desk.journals / f"{1:020d}.log.corrupt-1"]
    for path in aside:
        path.touch()
    desk.checkpoints.found(Loaded(needed={path: Needs() for path in (other, *aside)}))
    desk.commit(1, number=3)
    await until_async(lambda: desk.offsets() == {"t/0": 1})
    await until_async(lambda: set(desk.checkpoints._needed) == {desk.journal(3)})
    assert all(path.exists() for path in (other, *aside))


def transaction(desk, number=1, **changes):
    """The newest record of the transactional id "g", which a group has as its name as well."""
    desk.version += 1
    record = msgspec.structs.replace(fresh("g", 7, 60_000, 5), epoch=desk.version, **changes)
    desk.checkpoints.changed([Persist(desk.version, "g", EPOCH, record)], desk.journal(number))
    return record


def stored_transaction(desk):
    path = desk.folder / "__txn" / "g.json"
    return transaction_of(path.read_bytes(), path)[1] if path.exists() else None


async def test_a_transactional_id_is_written_as_it_was_last_and_its_journal_file_goes(make):
    desk = make()
    transaction(desk, number=1)
    last = transaction(desk, number=2)
    assert stored_transaction(desk) is None
    await until_async(lambda: stored_transaction(desk) == last and not (desk.journals / f"{1:020d}.log").exists())
    assert desk.journal(2).exists() and desk.offsets() is None


async def test_a_group_and_a_transactional_id_of_one_name_need_their_journal_files_apart(make):
    desk = make(interval_ms=3_600_000)
    desk.commit(1, number=1)
    last = transaction(desk, number=1)
    needs = desk.checkpoints._needed[desk.journal(1)]
    assert needs == Needs({"g": (EPOCH, 1)}, {"g": (EPOCH, 2)})
    await desk.checkpoints.stop()
    assert desk.offsets() == {"t/0": 1} and stored_transaction(desk) == last
    desk.checkpoints = make().checkpoints


async def test_a_transactional_id_that_cannot_be_written_is_tried_again_with_its_newest_record(make, tmp_path):
    desk = make()
    with obstructed(tmp_path / "__txn"):
        transaction(desk)
        await until_async(lambda: desk.checkpoints._failing)
        last = transaction(desk)
    await until_async(lambda: stored_transaction(desk) == last)


async def test_a_transactional_id_that_a_load_found_uncovered_is_written(make):
    desk = make()
    record, old = TransactionState("g", 7, 3, -1, -1, 60_000, "Empty", (), (), 0, 5), desk.journal(1)
    needed = {old: Needs(transactions={"g": (2, 8)})}
    desk.checkpoints.found(Loaded(transactions={"g": (record, (2, 8))}, needed=needed))
    desk.commit(9, "h", number=2)
    await until_async(lambda: stored_transaction(desk) == record and not old.exists())


async def test_a_transactional_id_that_is_gone_leaves_a_tombstone(make):
    desk = make()
    transaction(desk)
    desk.version += 1
    desk.checkpoints.changed([Persist(desk.version, "g", EPOCH, TransactionGone("g", 9))], desk.journal(1))
    await until_async(lambda: stored_transaction(desk) == TransactionGone("g", 9))


async def test_the_file_in_use_stays_whatever_other_brokers_files_are_called(make):
    desk = make()
    other = desk.folder / "__journal" / "2" / f"{99:020d}.log"
    other.parent.mkdir()
    other.touch()
    desk.checkpoints.found(Loaded(needed={other: Needs()}))
    desk.commit(1, number=3)
    await until_async(lambda: desk.offsets() == {"t/0": 1} and other not in desk.checkpoints._needed)
    assert desk.checkpoints.current == desk.journal(3) and desk.journal(3).exists()
