"""A small reverse proxy, as far as tests need one: it takes a prefix off, says where a request came from, and lets
websockets through or not."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager, suppress

from kaasadmin.tests.product import free_port

DROPPED = (b"upgrade", b"connection", b"sec-websocket-key", b"sec-websocket-version", b"sec-websocket-extensions")


class Proxy:
    """Forwards to `port`. `strip` is a prefix that it takes off; `upgrades` says whether it lets websockets through;
    `client` is the address that it tells."""

    def __init__(self, port, *, strip="", upgrades=True, client="203.0.113.1"):
        self.target = port
        self.port = free_port()
        self.strip = strip.encode()
        self.upgrades = upgrades
        self.client = client.encode()

    async def serve(self, reader, writer):
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            behind_reader, behind = await asyncio.open_connection("127.0.0.1", self.target)
            behind.write(self.forwarded(head))
            pipes = [self.pipe(reader, behind), self.pipe(behind_reader, writer)]
            await asyncio.wait([asyncio.create_task(pipe) for pipe in pipes], return_when=asyncio.FIRST_COMPLETED)
            behind.close()
        writer.close()

    def forwarded(self, head):
        """The head of a request as it goes on: one request for each connection."""
        first, *lines = head.rstrip(b"\r\n").split(b"\r\n")
        method, path, version = first.split(b" ")
        path = path.removeprefix(self.strip) or b"/"
        headers = [line.partition(b":") for line in lines]
        is_upgrade = any(name.lower() == b"upgrade" for name, _, _ in headers)
        if is_upgrade and self.upgrades:
            kept = headers
        else:
            kept = [one for one in headers if one[0].lower() not in DROPPED]
            kept.append((b"Connection", b":", b" close"))
        told = [b"X-Forwarded-For: " + self.client, b"X-Forwarded-Proto: http"]
        return b"\r\n".join([b" ".join([method, path, version]), *map(b"".join, kept), *told, b"", b""])

    async def pipe(self, source, target):
        with suppress(ConnectionError):
            while data := await source.read(65_536):
                target.write(data)
                await target.drain()


@contextmanager
def proxied(port, **options):
    """Runs a proxy in a thread of its own."""
    proxy, ready, ways_to_stop = Proxy(port, **options), threading.Event(), []

    async def run():
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        ways_to_stop.append(lambda: loop.call_soon_threadsafe(stopping.set))
        server = await asyncio.start_server(proxy.serve, "127.0.0.1", proxy.port)
        ready.set()
        await stopping.wait()
        server.close()

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    assert ready.wait(10)
    try:
        yield proxy
    finally:
        ways_to_stop[0]()
        thread.join(10)
