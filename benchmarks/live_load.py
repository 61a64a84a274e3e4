"""Load on the live path: sockets that read what they are told, and groups that change.

Job: both as processes of their own, so that they take as little as possible from what is measured on the same machine.
Rules: a reader does what a browser's socket must and no more: it takes the compression that browsers offer, counts messages,
answers pings and throws the rest away.
Source: RFC 6455 5.2 (frames), RFC 7692 (compression).
"""

from __future__ import annotations

import multiprocessing
import selectors
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from typing import Any

from redis import Redis

from groups.testing.feed import FeedWriter, snapshot

PING, PONG, MASKED = 0x89, 0x8A, 0x80
LOOK_UP_S = 0.25
"""How often a process looks whether it should end."""

GROUPS = 200
"""Groups that change in turn."""

_spawn = multiprocessing.get_context("spawn")


class Reader:
    """One live socket; `messages` are those that came whole or in part."""

    def __init__(self, port: int, path: str, cookies: str) -> None:
        self.messages = 0
        self._rest = b""
        self._skip = 0
        self.socket = socket.create_connection(("127.0.0.1", port))
        host = f"127.0.0.1:{port}"
        lines = (
            f"GET {path} HTTP/1.1",
            f"Host: {host}",
            f"Origin: http://{host}",
            f"Cookie: {cookies}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
            "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
        )
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += self.socket.recv(1)
        assert head.startswith(b"HTTP/1.1 101"), head

    def take(self) -> bool:
        """Reads what is there; false when the other side closed."""
        chunk = self.socket.recv(2**18)
        if not chunk:
            return False
        if self._rest:
            chunk = self._rest + chunk
        at, end = self._skip, len(chunk)
        while at + 2 <= end:
            size, head = chunk[at + 1], 2
            if size > 125:
                head = 4 if size == 126 else 10
                size = int.from_bytes(chunk[at + 2 : at + head], "big")
            if at + head > end:
                break
            if chunk[at] == PING:
                self.socket.sendall(bytes((PONG, MASKED | size, 0, 0, 0, 0)) + chunk[at + head : at + head + size])
            else:
                self.messages += 1
            at += head + size
        self._rest, self._skip = (chunk[at:], 0) if at < end else (b"", at - end)
        return True


def read_all(port: int, path: str, cookies: str, count: int, counted: Any, ready: Event, ending: Event) -> None:
    """Opens sockets one after the other and reads them until the end; `counted` becomes the number of messages."""
    selector = selectors.DefaultSelector()
    readers = []
    for _ in range(count):
        readers.append(Reader(port, path, cookies))
        selector.register(readers[-1].socket, selectors.EVENT_READ, readers[-1])
        _turn(selector, 0)
    ready.set()
    while not ending.is_set():
        _turn(selector, LOOK_UP_S)
        counted.value = sum(reader.messages for reader in readers)
    for reader in readers:
        reader.socket.close()


def _turn(selector: selectors.BaseSelector, within_s: float) -> None:
    for key, _ in selector.select(within_s):
        if not key.data.take():
            raise SystemExit("the console closed a socket")


def change_groups(redis_url: str, per_s: int, counted: Any, ready: Event, ending: Event) -> None:
    """Changes groups at an even pace; `counted` becomes the number of events."""
    with Redis.from_url(redis_url) as redis:
        feed = FeedWriter(redis)
        ready.set()
        began = time.monotonic()
        while not ending.is_set():
            due = int((time.monotonic() - began) * per_s)
            for number in range(counted.value, due):
                name = f"background-{number % GROUPS}"
                feed.group(snapshot(name, offsets={("t", 0): number}), "offsets_committed")
            counted.value = max(counted.value, due)
            time.sleep(1 / per_s)


class Load:
    """What a process does meanwhile; `per_s` is its rate since it was ready."""

    def __init__(self, work: Any, *given: Any) -> None:
        self._counted = _spawn.Value("q", 0)
        self._ready, self.ending = _spawn.Event(), _spawn.Event()
        self.process = _spawn.Process(target=work, args=(*given, self._counted, self._ready, self.ending), daemon=True)
        self.process.start()
        while not self._ready.wait(LOOK_UP_S):
            assert self.process.is_alive(), "the load did not begin"
        self._began = (time.monotonic(), self._counted.value)

    def per_s(self) -> float:
        assert self.process.is_alive(), "the load ended before the measurement"
        return (self._counted.value - self._began[1]) / (time.monotonic() - self._began[0])


@contextmanager
def load(work: Any, *given: Any) -> Iterator[Load]:
    """Runs `read_all` or `change_groups` for as long as the block lasts."""
    running = Load(work, *given)
    try:
        yield running
    finally:
        running.ending.set()
        running.process.join(10)
