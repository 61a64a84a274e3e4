"""kfake, the broker in memory of franz-go, as a process of its own (benchmarks/kfake_server/, built once by Go).

Job: the third peer of the table of coordinators. Nothing that it holds is on disk.
"""

from __future__ import annotations

import fcntl
import signal
import subprocess
import uuid
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.broker import ROOT, answers
from tests.support.ports import free_port
from tests.support.process import LocalBroker
from tests.support.require import require
from tests.support.waiting import until

SOURCES = Path(__file__).with_name("kfake_server")
CACHE = ROOT / ".cache" / "kfake"
START_S = 15.0


def program() -> Path:
    """The program, built from the pinned versions when it is not there."""
    require("go")
    CACHE.mkdir(parents=True, exist_ok=True)
    mark = uuid.uuid5(uuid.NAMESPACE_URL, "".join(path.read_text() for path in sorted(SOURCES.iterdir()))).hex[:12]
    built = CACHE / f"kfake-{mark}"
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built.exists():
            fresh = CACHE / "building"
            subprocess.run(["go", "build", "-o", str(fresh), "."], cwd=SOURCES, check=True)
            fresh.rename(built)
    return built


class KfakeBroker(LocalBroker):
    """`with KfakeBroker() as broker: ...broker.address...`"""

    def __init__(self) -> None:
        super().__init__(free_port())

    def held_bytes(self) -> int:
        """Resident memory after what is not in use went back to the system."""
        assert self._process is not None and self._process.stdout is not None, "not started"
        self._process.send_signal(signal.SIGUSR1)
        self._process.stdout.readline()
        return self.resident_bytes()

    def __enter__(self) -> Self:
        command = [str(program()), str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        until(lambda: answers("127.0.0.1", self.port), START_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
