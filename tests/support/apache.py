"""A real Apache Kafka broker (KRaft, one node), and Apache's command-line tools.

The jars come from Maven once and stay in `.cache/` of the checkout. A broker is formatted anew in the folder it is given and is
ready when it has answered a request; its log lies beside the folder.
"""

from __future__ import annotations

import base64
import fcntl
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.broker import ROOT, answers
from tests.support.ports import free_ports
from tests.support.process import LocalBroker
from tests.support.require import require
from tests.support.waiting import until

POM = Path(__file__).with_name("apache.pom.xml")
CACHE = ROOT / ".cache" / "apache-kafka"
CLUSTER_ID = base64.urlsafe_b64encode(b"apache-for-tests").rstrip(b"=").decode()
"""Sixteen bytes that are always the same: of random ones, every 64th begins with a dash and is taken for an option."""
START_S = 180.0
STOP_S = 30.0
QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
ALONE = {
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 8,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "transaction.state.log.num.partitions": 8,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
}
"""What a cluster of one node needs, and no wait in the first join phase."""


def libraries() -> Path:
    """The folder with all jars; fetched when it is not there, by one process at a time."""
    require("java", "mvn")
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = CACHE / f"libs-{uuid.uuid5(uuid.NAMESPACE_URL, POM.read_text()).hex[:12]}"
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            fetched = CACHE / "fetching"
            shutil.rmtree(fetched, ignore_errors=True)
            command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies"]
            subprocess.run([*command, f"-DoutputDirectory={fetched}", "-DincludeScope=runtime"], check=True)
            fetched.rename(folder)
    return folder


def java(*arguments: str, options: tuple[str, ...] = ()) -> list[str]:
    """The command that runs a class of Kafka's."""
    return ["java", QUIET, *options, "-cp", f"{libraries()}/*", *arguments]


class ApacheBroker(LocalBroker):
    """`with ApacheBroker(tmp_path / "apache") as broker: ...broker.address...`"""

    def __init__(
        self, folder: Path, settings: Mapping[str, object] | None = None, *, heap: str = "512m", detached: bool = False
    ) -> None:
        self.folder = folder
        self.settings = {**ALONE, **(settings or {})}
        port, self.controller_port = free_ports(2)
        super().__init__(port)
        self.startup_s = 0.0
        self.log_path = folder.with_name(f"{folder.name}.log")
        self._heap = (f"-Xms{heap}", f"-Xmx{heap}")
        self._detached = detached

    def start(self) -> Self:
        """Format, start, and wait until it answers."""
        self.folder.mkdir(parents=True)
        properties = self.folder / "server.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in self._properties().items()))
        tool = ("kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(properties), "--standalone")
        with self.log_path.open("ab") as log:
            subprocess.run(java(*tool), check=True, stdout=log, stderr=log)
            began = time.monotonic()
            self._process = subprocess.Popen(
                java("kafka.Kafka", str(properties), options=self._heap),
                cwd=self.folder,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=self._detached,
            )
        try:
            until(self._is_ready, START_S, 0.02)
        except BaseException:
            self.stop()
            raise
        self.startup_s = time.monotonic() - began
        return self

    def _properties(self) -> dict[str, object]:
        client, controller = f"PLAINTEXT://{self.address}", f"CONTROLLER://127.0.0.1:{self.controller_port}"
        return {
            "process.roles": "broker,controller",
            "node.id": 1,
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{self.controller_port}",
            "listeners": f"{client},{controller}",
            "advertised.listeners": client,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": self.folder / "logs",
            **self.settings,
        }

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"Apache Kafka ended:\n{self.log_path.read_text()[-4_000:]}"
        return answers("127.0.0.1", self.port)

    def stop(self) -> None:
        """End it; what it stored is of no more use."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(STOP_S)
            self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def shared(folder: Path, name: str, settings: Mapping[str, object]) -> str:
    """The address of a broker that all workers of a test run share; the first that asks starts it.

    `folder` belongs to the run. Whoever owns the run calls `stop_shared` at its end.
    """
    folder.mkdir(parents=True, exist_ok=True)
    note = folder / f"{name}.started"
    with (folder / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not note.exists():
            broker = ApacheBroker(folder / name, settings, detached=True).start()
            note.write_text(f"{broker.pid} {broker.address}")
        return note.read_text().split()[1]


def stop_shared(folder: Path) -> None:
    """End every broker that `shared` started in this folder."""
    for note in folder.glob("*.started"):
        pid = int(note.read_text().split()[0])
        note.unlink()
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
