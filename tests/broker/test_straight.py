"""Answers go straight to the socket, in order, and what does not fit waits in the transport."""

import asyncio
import socket
import ssl

import pytest
import uvloop

from kaas.broker import straight as module
from kaas.broker.straight import NO_SOCKET, Straight, socket_of
from tests.support.held import HeldTransport


class Socket:
    """What `get_extra_info` gives for a socket."""

    def fileno(self):
        return 7


class Transport(HeldTransport):
    """A held transport above a socket that takes so many bytes at a time."""

    def __init__(self, *room):
        super().__init__()
        self.room = list(room)
        self.sent = []

    def get_extra_info(self, name):
        return Socket() if name == "socket" else None

    def take(self, number, data):
        assert number == 7
        room = self.room.pop(0)
        if isinstance(room, OSError):
            raise room
        self.sent.append(data[:room])
        return len(data[:room])


@pytest.fixture
def opened(monkeypatch):
    def make(*room):
        transport = Transport(*room)
        monkeypatch.setattr(module.os, "write", transport.take)
        return Straight(transport), transport

    return make


def test_an_answer_goes_to_the_socket_at_once(opened):
    out, transport = opened(9, 9)
    out.write(b"one")
    out.write(b"two")
    assert (transport.sent, transport.written) == ([b"one", b"two"], [])


@pytest.mark.parametrize("room", [2, 0, BlockingIOError(), BrokenPipeError(), ConnectionResetError()])
def test_what_the_socket_does_not_take_is_the_transports_and_so_is_all_that_comes_before_it_has_gone(opened, room):
    out, transport = opened(room, 9)
    out.write(b"first")
    assert b"".join(transport.sent + transport.written) == b"first" and transport.written
    transport.unread_bytes = 3
    out.write(b"second")
    assert transport.written[1:] == [b"second"] and len(transport.room) == 1
    transport.unread_bytes = 0
    out.write(b"third")
    assert transport.sent[-1] == b"third" and transport.written[1:] == [b"second"]


def test_an_encrypted_connection_and_one_without_a_socket_have_no_other_way_than_the_transport():
    transport = HeldTransport()
    Straight(transport).write(b"x")
    assert transport.written == [b"x"]
    encrypted = Transport()
    encrypted.get_extra_info = lambda name: {"socket": Socket(), "ssl_object": ssl.SSLObject}.get(name)
    assert socket_of(encrypted) == NO_SOCKET


@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_a_client_that_reads_late_is_sent_everything_in_order(run):
    chunks = [bytes([number]) * 50_000 for number in range(100)]

    async def sends():
        loop, made = asyncio.get_running_loop(), asyncio.Event()
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)

        class Protocol(asyncio.Protocol):
            def connection_made(self, transport):
                self.out = Straight(transport)
                made.set()

        transport, protocol = await loop.connect_accepted_socket(Protocol, ours)
        await made.wait()
        for chunk in chunks[:50]:
            protocol.out.write(chunk)
        read = bytearray()
        while len(read) < 1_000_000:
            read += await loop.sock_recv(theirs, 65_536)
        for chunk in chunks[50:]:
            protocol.out.write(chunk)
        transport.close()
        while data := await loop.sock_recv(theirs, 65_536):
            read += data
        theirs.close()
        return bytes(read)

    assert run(sends()) == b"".join(chunks)
