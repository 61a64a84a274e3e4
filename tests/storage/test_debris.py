"""Debris on a volume: what goes, and all that must stay."""

from __future__ import annotations

import fcntl
import os
import threading

import pytest

from kaas.coordinator.records import GroupDeleted, GroupEmpty
from kaas.coordinator.transactions.state import TransactionGone, fresh
from kaas.storage.checkpoint_files import Job, TransactionJob, checkpoint_lock
from kaas.storage.debris import Swept, sweep
from kaas.storage.files import broker_lock, exclusive
from kaas.storage.transaction_files import TRANSACTIONS_FOLDER
from tests.storage.test_load import commit
from tests.support.volume import Change, Volume

NOW_MS = 2_000_000_000_000
HOUR_MS = 3_600_000
KEPT_MS = 7 * 24 * HOUR_MS
OLD_MS = NOW_MS - KEPT_MS - 1
NOTHING = Swept(temporary=0, tombstones=0, journals=0)


@pytest.fixture
def volume(tmp_path):
    return Volume(tmp_path)


def swept(volume, registered=(1,)):
    return sweep(volume.folder, registered=registered, now_ms=NOW_MS, tombstones_kept_ms=KEPT_MS)


def aged(path, at_ms):
    os.utime(path, (at_ms / 1000, at_ms / 1000))
    return path


def tombstone(volume, at_ms=OLD_MS, group_id="g", version=9):
    volume.write(Job(group_id=group_id, epoch=1, version=version, deleted=(at_ms, "deleted")))
    return aged(volume.group_path(group_id), at_ms)


def test_an_empty_volume_has_no_debris(volume):
    assert swept(volume) == NOTHING and not swept(volume)


def test_a_temporary_file_goes_after_an_hour_and_no_other_file_does(volume):
    volume.checkpoint(Change("g", 1, GroupEmpty(1, "consumer", 5)), commit(2, 5))
    folder = volume.group_path("g").parent
    old = folder / ".g.json.00.tmp"
    old.touch()
    aged(old, NOW_MS - HOUR_MS - 1)
    young = folder / ".g.json.11.tmp"
    young.touch()
    aged(young, NOW_MS - HOUR_MS + 1)
    other = folder / "notes.tmp"
    other.touch()
    aged(other, OLD_MS)
    assert swept(volume) == Swept(temporary=1, tombstones=0, journals=0)
    assert not old.exists() and young.exists() and other.exists() and volume.group_path("g").exists()


def test_a_tombstone_goes_when_its_time_is_over(volume):
    path = tombstone(volume)
    young = tombstone(volume, NOW_MS - KEPT_MS + 1, "young")
    assert swept(volume) == Swept(temporary=0, tombstones=1, journals=0)
    assert not path.exists() and young.exists()
    assert swept(volume) == NOTHING


def test_a_tombstone_that_keeps_a_journal_quiet_stays(volume):
    path = tombstone(volume)
    volume.journal(commit(3, 5), broker="2")
    assert swept(volume, registered=(1, 2)) == NOTHING
    assert path.exists() and "g" not in volume.load().groups


def test_a_group_that_is_there_is_no_tombstone_however_old_its_file_is(volume):
    volume.checkpoint(Change("g", 1, GroupEmpty(1, "consumer", 5)), commit(2, 5))
    aged(volume.group_path("g"), OLD_MS)
    aged(volume.offsets_path("g"), OLD_MS)
    assert swept(volume) == NOTHING


def test_what_cannot_be_read_is_left_alone(volume):
    path = tombstone(volume)
    path.write_bytes(b"{")
    aged(path, OLD_MS)
    assert swept(volume) == NOTHING and path.exists()


def test_a_group_that_comes_back_at_this_moment_keeps_its_file(volume):
    """The sweep has judged the tombstone and waits for the lock, under which a new life is written in its place."""
    path = tombstone(volume)
    result = []
    with exclusive(checkpoint_lock(volume.folder)):
        thread = threading.Thread(target=lambda: result.append(swept(volume)))
        thread.start()
        reborn = Volume(volume.folder / "aside")
        reborn.folder.mkdir()
        reborn.checkpoint(Change("g", 20, GroupEmpty(5, "consumer", 5)))
        reborn.group_path("g").replace(path)
        aged(path, OLD_MS)
    thread.join()
    assert result == [NOTHING] and volume.load().groups["g"].classic.generation == 5


def test_the_tombstone_of_a_transactional_id_goes_too(volume):
    folder = volume.folder / TRANSACTIONS_FOLDER
    volume.write(
        TransactionJob(record=TransactionGone("gone", OLD_MS), epoch=1, version=4),
        TransactionJob(record=fresh("there", 3, 60_000, OLD_MS), epoch=1, version=5),
    )
    for name in ("gone", "there"):
        aged(folder / f"{name}.json", OLD_MS)
    assert swept(volume) == Swept(temporary=0, tombstones=1, journals=0)
    assert [path.name for path in folder.iterdir()] == ["there.json"]


def covered_journal(volume, broker="2"):
    """A journal with nothing in it that checkpoints do not say."""
    changes = [Change("g", 1, GroupEmpty(1, "consumer", 5)), commit(2, 5)]
    path = volume.journal(*changes, Change("pay", 3, fresh("pay", 1, 60_000, 5)), broker=broker)
    volume.checkpoint(*changes)
    volume.write(TransactionJob(record=fresh("pay", 1, 60_000, 5), epoch=1, version=3))
    return path


def test_the_journal_of_a_broker_that_left_goes_when_nothing_in_it_is_news(volume):
    path = covered_journal(volume)
    assert swept(volume, registered=(1, 2)) == NOTHING, "it has not left"
    assert swept(volume) == Swept(temporary=0, tombstones=0, journals=1)
    assert not path.parent.exists() and volume.load().groups["g"].offset("t", 0).offset == 5


@pytest.mark.parametrize(
    "news",
    [
        commit(9, 6),
        Change("g", 9, GroupEmpty(2, "consumer", 6)),
        Change("g", 9, GroupDeleted(5, "deleted")),
        Change("new", 1, GroupEmpty(1, "consumer", 6)),
        Change("pay", 9, fresh("pay", 2, 60_000, 5)),
    ],
    ids=lambda change: type(change.record).__name__,
)
def test_a_journal_with_news_stays(volume, news):
    path = covered_journal(volume)
    path.write_bytes(path.read_bytes() + news.packed())
    assert swept(volume) == NOTHING and path.exists()


def test_a_torn_end_is_no_news(volume):
    path = covered_journal(volume)
    path.write_bytes(path.read_bytes() + commit(9, 6).packed()[:-3])
    assert swept(volume).journals == 1


@pytest.mark.parametrize("damage", ["corrupt", "set aside", "strange file"])
def test_a_journal_that_cannot_be_read_whole_stays(volume, damage):
    path = covered_journal(volume)
    data = path.read_bytes()
    if damage == "strange file":
        (path.parent / "notes.txt").touch()
    else:
        path.write_bytes(data[:20] + bytes([data[20] ^ 1]) + data[21:])
    if damage == "set aside":
        path.rename(path.with_name(path.name + ".corrupt"))
    assert swept(volume) == NOTHING


def test_the_journal_of_a_broker_that_runs_stays_whatever_the_assignment_says(volume):
    covered_journal(volume)
    with broker_lock(volume.folder, 2).open("a") as running:
        fcntl.flock(running, fcntl.LOCK_EX)
        assert swept(volume) == NOTHING
    assert swept(volume).journals == 1
