"""The event loop's side of the process that writes checkpoint files.

Job: start the process when there is something to write, give it batches, tell what became of each job.
Rules: one batch at a time. A process that dies is a failed batch, like a disk that refuses; the next batch starts a new
one. The process has a session of its own, so that an interrupt at the terminal ends it only once the last batch is
written.
Must not know: when a group is due, how files are replaced.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import kaas
from kaas.storage.checkpoint_files import Files, Job, TransactionJob
from kaas.storage.checkpoint_process import LENGTH_BYTES, answer_of, frame

PACKAGE_ROOT = Path(kaas.__file__).parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """What became of a job; `error` is null when its files are durable."""

    job: Job | TransactionJob
    error: OSError | None = None


class CheckpointWriter:
    """`process` is null until there is something to write."""

    def __init__(self, cluster_folder: Path) -> None:
        self._folder = cluster_folder.absolute()
        self.process: Process | None = None

    async def write(self, jobs: Sequence[Job | TransactionJob], files: list[Files]) -> list[Done]:
        """Make the files of these jobs durable. Never at the same time as another call."""
        try:
            problems = await self._ask(files)
        except (OSError, asyncio.IncompleteReadError) as problem:
            await self.stop()
            lost = ChildProcessError(f"the process that writes checkpoints has ended: {problem}")
            problems = [lost] * len(files)
        return [Done(job=job, error=error) for job, error in zip(jobs, problems, strict=True)]

    async def _ask(self, files: list[Files]) -> list[OSError | None]:
        if self.process is None:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "kaas.storage.checkpoint_process",
                str(self._folder),
                stdin=PIPE,
                stdout=PIPE,
                cwd=PACKAGE_ROOT,
                start_new_session=True,
            )
        batches, answers = self.process.stdin, self.process.stdout
        assert batches is not None and answers is not None
        batches.write(frame(files))
        await batches.drain()
        size = int.from_bytes(await answers.readexactly(LENGTH_BYTES), "big")
        return answer_of(await answers.readexactly(size))

    async def stop(self) -> None:
        """Let the process end, and wait until it has."""
        process, self.process = self.process, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()
