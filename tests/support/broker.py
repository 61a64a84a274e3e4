"""The broker under test, in a process of its own, as a user would start it.

It is ready when it has answered a request. Its log is kept beside its data; the log of every broker that runs when a test fails
is shown with the failure (tests/conftest.py).
"""

from __future__ import annotations

import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.process import LocalBroker
from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]
START_S = 60.0
STOP_S = 60.0
LISTENING = re.compile(r"event=listening .*?=[0-9.]+:(\d+)")
API_VERSIONS_REQUEST = struct.pack(">ihhih", 10, 18, 0, 1, -1)
TESTING = {"group.initial.rebalance.delay.ms": 0}
"""Settings that nearly every test wants: the first join phase does not wait for others."""

running: list[BrokerProcess] = []
"""Every broker process that was started and not stopped."""


def answers(host: str, port: int, timeout_s: float = 1.0) -> bool:
    """Whether a Kafka broker answers there."""
    try:
        with socket.create_connection((host, port), timeout_s) as client:
            client.sendall(API_VERSIONS_REQUEST)
            return len(client.recv(4)) == 4
    except OSError:
        return False


class BrokerProcess(LocalBroker):
    """`with BrokerProcess(tmp_path) as broker: ...broker.address...`

    `data` is its folder; a second start uses it again, on the same port. `settings` go in by Kafka's names. `before` runs in
    the new process before the broker does (to limit what it may use). `startup_s` is the time from the start to the first
    answer.
    """

    def __init__(
        self,
        data: Path,
        settings: Mapping[str, object] | None = None,
        *,
        redis_url: str | None = None,
        port: int = 0,
        before: Callable[[], None] | None = None,
        launcher: tuple[str, ...] = (),
    ) -> None:
        self.data = data
        self.settings = {**TESTING, **(settings or {})}
        self.redis_url = redis_url
        super().__init__(port)
        self.startup_s = 0.0
        self._before = before
        self._launcher = launcher
        self.log_path = data.with_name(f"{data.name}.log")
        self._log_at = 0

    def command(self) -> list[str]:
        command = [
            sys.executable,
            *self._launcher,
            "-m",
            "kaas.broker",
            "--port",
            str(self.port),
            "--data",
            str(self.data),
        ]
        if self.redis_url is not None:
            command += ["--redis", self.redis_url]
        for name, value in self.settings.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            command += ["--set", f"{name}={text}"]
        return command

    def start(self) -> Self:
        """Start, and wait until it answers."""
        began = time.monotonic()
        self.launch()
        try:
            until(self._is_ready, START_S, 0.005)
        except BaseException:
            self.kill()
            raise
        self.startup_s = time.monotonic() - began
        return self

    def launch(self) -> None:
        """Start without waiting."""
        assert self._process is None, "runs already"
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        with self.log_path.open("ab") as log:
            self._log_at = log.tell()
            self._process = subprocess.Popen(
                self.command(),
                cwd=ROOT,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env=os.environ | {"PYTHONUNBUFFERED": "1"},
                preexec_fn=self._before,
            )
        running.append(self)

    def _is_ready(self) -> bool:
        assert self.is_alive, f"the broker ended with {self._ended()}:\n{self.log}"
        if self.port == 0:
            found = LISTENING.search(self.log)
            self.port = int(found[1]) if found else 0
        return self.port != 0 and answers("127.0.0.1", self.port)

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log(self) -> str:
        """What this life of the broker has said."""
        with self.log_path.open("rb") as file:
            file.seek(self._log_at)
            return file.read().decode(errors="replace")

    def stop(self) -> int:
        """End it in order; its exit status."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once, as a crash does."""
        self._end(signal.SIGKILL)

    def close(self) -> None:
        """Leave nothing running, however it ended."""
        if self._process is not None:
            self._end(signal.SIGTERM)

    def restart(self) -> Self:
        """Kill it and start it again on the same folder and port."""
        self.kill()
        return self.start()

    def _end(self, number: signal.Signals) -> int:
        if self._process is None:
            return 0
        self._process.send_signal(number)
        try:
            return self._ended()
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        finally:
            self._process.wait()
            self._process = None
            running.remove(self)

    def _ended(self) -> int:
        assert self._process is not None
        return self._process.wait(STOP_S)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
