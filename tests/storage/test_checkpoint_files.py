"""Checkpoints: newer ones stay, corrupt ones are kept aside, what fails is reported and left as it was."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import pytest

from kaas.coordinator.offset_entry import OffsetEntry
from kaas.coordinator.records import GroupEmpty
from kaas.storage.checkpoint_files import Job, write_batch
from kaas.storage.group_files import GROUPS_FOLDER, OFFSETS_FOLDER, group_of, head_of, membership_of, offsets_of
from tests.support.disk import refusing

STORED = GroupEmpty(3, "consumer", 7)


@pytest.fixture
def write(tmp_path):
    """Writes the files of jobs; what kept each from being durable."""
    return lambda *jobs: write_batch(tmp_path, [job.files() for job in jobs])


def offsets_job(version: int, offset: int = 5, **more) -> Job:
    return Job(group_id="g", epoch=1, version=version, offsets={"t": {0: OffsetEntry(offset, -1, "", 1)}}, **more)


def deleted_job(version: int) -> Job:
    return Job(group_id="g", epoch=1, version=version, deleted=(9, "deleted"))


def offsets_file(folder: Path) -> Path:
    return folder / OFFSETS_FOLDER / "g.json"


def group_file(folder: Path) -> Path:
    return folder / GROUPS_FOLDER / "g.json"


def committed(folder: Path) -> int:
    return offsets_of(offsets_file(folder).read_bytes(), offsets_file(folder), 0)[2][0][2].offset


def test_what_is_due_is_written_and_nothing_else(tmp_path, write):
    write(offsets_job(1))
    assert offsets_file(tmp_path).exists() and not group_file(tmp_path).exists()
    job = Job(group_id="g", epoch=1, version=2, membership=True, stored=STORED, reserved=4)
    assert write(job) == [None]
    file = group_of(group_file(tmp_path).read_bytes(), group_file(tmp_path))
    assert (membership_of(file), file.reserved_generation) == (STORED, 4)


def test_a_newer_checkpoint_is_not_replaced(tmp_path, write):
    write(offsets_job(5, offset=50))
    write(offsets_job(4, offset=40))
    assert committed(tmp_path) == 50
    write(offsets_job(5, offset=51))
    assert committed(tmp_path) == 51


def test_a_tombstone_takes_the_place_of_the_membership_and_the_offsets_go(tmp_path, write):
    write(offsets_job(1, membership=True, stored=STORED))
    write(deleted_job(2))
    assert not offsets_file(tmp_path).exists()
    assert group_of(group_file(tmp_path).read_bytes(), group_file(tmp_path)).deleted_at == 9


def test_a_late_tombstone_takes_nothing_of_the_next_life(tmp_path, write):
    write(offsets_job(3, membership=True, stored=STORED))
    write(deleted_job(2))
    assert committed(tmp_path) == 5
    assert group_of(group_file(tmp_path).read_bytes(), group_file(tmp_path)).deleted_at is None


def test_no_group_file_is_written_before_the_offsets_files_are_durable(tmp_path, write):
    """A load takes a group file's word for the offsets as well."""
    with refusing("fsync"):
        write(offsets_job(1, membership=True, stored=STORED))
    assert offsets_file(tmp_path).exists() and not group_file(tmp_path).exists()


def test_offsets_of_a_former_life_go_before_a_group_file_of_a_new_one_comes(tmp_path, write):
    write(offsets_job(1))
    data = offsets_file(tmp_path).read_bytes()
    write(deleted_job(2))
    offsets_file(tmp_path).write_bytes(data)
    write(Job(group_id="g", epoch=1, version=3, membership=True, reserved=1))
    assert not offsets_file(tmp_path).exists()
    write(offsets_job(4))
    write(Job(group_id="g", epoch=1, version=5, membership=True, reserved=2))
    assert committed(tmp_path) == 5


def test_a_file_that_cannot_be_understood_is_set_aside_and_the_good_state_written(tmp_path, write):
    """K8: what somebody may still want to look at is never overwritten."""
    offsets_file(tmp_path).parent.mkdir()
    offsets_file(tmp_path).write_bytes(b"half a fi")
    write(offsets_job(1))
    assert committed(tmp_path) == 5
    assert offsets_file(tmp_path).with_name("g.json.corrupt").read_bytes() == b"half a fi"


def test_a_batch_shares_one_flush_of_each_folder(tmp_path, write):
    jobs = [Job(group_id=f"g{n}", epoch=1, version=n, offsets={}, membership=True) for n in range(20)]
    with mock.patch.object(os, "fsync", wraps=os.fsync) as fsync:
        write(*jobs)
        assert fsync.call_count == 2
        write(deleted_job(1), *jobs)
        assert fsync.call_count == 5  # what a tombstone ends is removed when that is durable
    assert len(list((tmp_path / OFFSETS_FOLDER).iterdir())) == 20


@pytest.mark.parametrize("call", ["fdatasync", "replace", "fsync"])
def test_what_fails_is_reported_and_left_as_it_was(tmp_path, write, call):
    write(offsets_job(1, offset=10))
    with refusing(call):
        (problem,) = write(offsets_job(2, offset=20))
    assert problem is not None
    assert head_of(offsets_file(tmp_path).read_bytes()).version in ((1,) if call != "fsync" else (1, 2))
    assert write(offsets_job(2, offset=20)) == [None]
    assert committed(tmp_path) == 20


def test_one_group_that_fails_does_not_keep_the_others_back(tmp_path, write):
    (tmp_path / OFFSETS_FOLDER / "g.json").mkdir(parents=True)
    other = Job(group_id="other", epoch=1, version=1, offsets={})
    failed, done = write(offsets_job(1), other)
    assert failed is not None and done is None


def test_every_id_has_its_files_inside_the_folder(tmp_path, write):
    """K20."""
    ids = ["../escape", "a/b", "", ".", "..", "x" * 1_000, "nul\0"]
    write(*(Job(group_id=each, epoch=1, version=1, offsets={}, membership=True) for each in ids))
    for folder in (OFFSETS_FOLDER, GROUPS_FOLDER):
        files = list((tmp_path / folder).iterdir())
        assert len(files) == len(ids)
    assert {path.name for path in tmp_path.iterdir()} == {OFFSETS_FOLDER, GROUPS_FOLDER, "checkpoints.lock"}
