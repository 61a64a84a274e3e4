"""The event loop's side of the process that writes checkpoints."""

from __future__ import annotations

import pytest

from kaas.coordinator.offset_entry import OffsetEntry
from kaas.storage.checkpoint_files import Job
from kaas.storage.checkpoint_writer import CheckpointWriter, Done
from kaas.storage.group_files import OFFSETS_FOLDER, offsets_of


@pytest.fixture
async def writer(tmp_path):
    made = CheckpointWriter(tmp_path)
    yield made
    await made.stop()


def job(version: int, group_id: str = "g") -> Job:
    return Job(group_id=group_id, epoch=1, version=version, offsets={"t": {0: OffsetEntry(version, -1, "", 1)}})


async def write(writer, *jobs):
    return await writer.write(jobs, [each.files() for each in jobs])


def committed(folder, group_id="g") -> int:
    path = folder / OFFSETS_FOLDER / f"{group_id}.json"
    return offsets_of(path.read_bytes(), path, 0).entries[0][2].offset


async def test_batches_are_written_one_after_another_by_one_process(tmp_path, writer):
    assert await write(writer, job(1), job(2, "h")) == [Done(job=job(1)), Done(job=job(2, "h"))]
    process = writer.process
    assert await write(writer, job(3)) == [Done(job=job(3))]
    assert (committed(tmp_path), committed(tmp_path, "h")) == (3, 2)
    assert writer.process is process


async def test_nothing_is_started_while_there_is_nothing_to_write(writer):
    assert writer.process is None
    await writer.stop()


async def test_what_fails_is_told_of_its_job_alone(tmp_path, writer):
    (tmp_path / OFFSETS_FOLDER / "g.json").mkdir(parents=True)
    failed, done = await write(writer, job(1), job(2, "h"))
    assert isinstance(failed.error, IsADirectoryError) and done.error is None


async def test_a_process_that_dies_is_a_failed_batch_and_the_next_one_is_written(tmp_path, writer):
    await write(writer, job(1))
    writer.process.kill()
    await writer.process.wait()
    (failed,) = await write(writer, job(2))
    assert isinstance(failed.error, ChildProcessError)
    assert await write(writer, job(2)) == [Done(job=job(2))]
    assert committed(tmp_path) == 2


async def test_a_batch_larger_than_a_pipe_is_written(tmp_path, writer):
    entries = {n: OffsetEntry(n, -1, "x" * 100, 1) for n in range(5_000)}
    large = Job(group_id="g", epoch=1, version=1, offsets={"t": entries})
    assert await write(writer, large) == [Done(job=large)]
    assert committed(tmp_path) == 0


async def test_a_stop_waits_for_the_process(writer):
    await write(writer, job(1))
    process = writer.process
    await writer.stop()
    assert process.returncode == 0
