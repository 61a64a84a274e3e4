"""What every broker in a process of its own has, whoever made it: an address, a process, what that takes."""

from __future__ import annotations

import subprocess

import psutil


def processor_s(pid: int) -> float:
    """Processor time that a process and those it started have used so far."""
    first = psutil.Process(pid)
    times = [one.cpu_times() for one in (first, *first.children(recursive=True))]
    return float(sum(each.user + each.system for each in times))


class LocalBroker:
    """A broker on this machine. `port` is 0 until it has one; there is no process before the start."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """host:port."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "not started"
        return self._process.pid

    def resident_bytes(self) -> int:
        """Memory that belongs to the process alone or together with others."""
        return int(psutil.Process(self.pid).memory_info().rss)

    def cpu_s(self) -> float:
        """Processor time that it and its helpers have used so far."""
        return processor_s(self.pid)
