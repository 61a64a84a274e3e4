"""Answers straight to a socket.

Job: write what a client is answered: into its socket at once while nothing waits before it, through the transport else.
Why: an event loop queues what it is given for the end of its round, which costs a list, a handle and a callback for each
answer; nearly every answer fits into the socket's buffer, and its writing needs none of them.
Rules: bytes go out in the order in which they were given. What does not fit, and whatever the socket objects to, is the
transport's: it waits, tells the connection to pause, ends it. A TLS connection has no socket to write to.
Must not know: what an answer is.
"""

from __future__ import annotations

import asyncio
import os

NO_SOCKET = -1


class Straight:
    """The way out of one connection. Its transport must be open, or closing and not lost yet: then the socket is its own."""

    __slots__ = ("_fd", "_is_free", "_transport")

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._fd = socket_of(transport)
        self._is_free = self._fd != NO_SOCKET

    def write(self, data: bytes) -> None:
        """Send, now or as soon as it can be."""
        if not self._is_free:
            self._is_free = self._fd != NO_SOCKET and self._transport.get_write_buffer_size() == 0
        if not self._is_free:
            self._transport.write(data)
            return
        try:
            sent = os.write(self._fd, data)
        except OSError:
            sent = 0
        if sent < len(data):
            self._is_free = False
            self._transport.write(data[sent:])


def socket_of(transport: asyncio.Transport) -> int:
    """The descriptor that bytes for the client may be written to."""
    opened = transport.get_extra_info("socket")
    if opened is None or transport.get_extra_info("ssl_object") is not None:
        return NO_SOCKET
    number: int = opened.fileno()
    return number
