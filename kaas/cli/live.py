"""A live socket as a command reads it: messages, and nothing where none came in time.

Job: open the socket of one group, and open it again when it was cut off, from the event that came last.
Rules: the console closes with a code that says why: a right that is gone ends the watch, everything else is tried again.
Must not know: what the messages say, terminals.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import ClientConnection, connect

from kaas.cli.exits import Exit, Failed

AGAIN_AFTER_S = (0.5, 1.0, 2.0, 5.0)
"""How long after a failed try the next one comes; the last stands for all further ones."""

OPEN_WITHIN_S = 10.0
MESSAGE_LIMIT = 2**26
"""Bytes of the largest message: the snapshot of a group with tens of thousands of partitions."""

_ENDS = {
    4403: (Exit.REFUSED, "The right to see this was taken away."),
    4404: (Exit.NOT_FOUND, "There is no such cluster any more."),
}


class Live:
    """The socket at `address` (ws:// or wss://). `connected` says whether it is open now."""

    def __init__(self, address: str, token: str, now: Callable[[], float] = time.monotonic) -> None:
        self._address = address
        self._headers = {"Authorization": f"Bearer {token}"}
        self._now = now
        self._socket: ClientConnection | None = None
        self._open_one = ExitStack()
        self._since: str | None = None
        self._tries = 0
        self._next_try = now()

    @property
    def connected(self) -> bool:
        return self._socket is not None

    def take(self, within_s: float) -> dict[str, Any] | None:
        """The next message, null when none came within that time or the socket is cut off.

        Raises Failed when the console closed it for good.
        """
        socket = self._socket or self._open(within_s)
        if socket is None:
            return None
        try:
            message: dict[str, Any] = json.loads(socket.recv(timeout=within_s))
        except TimeoutError:
            return None
        except ConnectionClosed as closed:
            self._cut_off(closed.rcvd.code if closed.rcvd else None)
            return None
        self._since = message.get("id", self._since)
        return message

    def close(self) -> None:
        """Ends it; doing so twice does no harm."""
        self._socket = None
        self._open_one.close()

    def _open(self, within_s: float) -> ClientConnection | None:
        wait_s = self._next_try - self._now()
        if wait_s > 0:
            time.sleep(min(wait_s, within_s))
            return None
        address = self._address if self._since is None else f"{self._address}?since={self._since}"
        try:
            self._socket = self._open_one.enter_context(
                connect(address, additional_headers=self._headers, open_timeout=OPEN_WITHIN_S, max_size=MESSAGE_LIMIT)
            )
        except (OSError, WebSocketException):
            self._later()
            return None
        self._tries = 0
        return self._socket

    def _cut_off(self, code: int | None) -> None:
        self.close()
        if code in _ENDS:
            raise Failed(*_ENDS[code])
        self._later()

    def _later(self) -> None:
        self._next_try = self._now() + AGAIN_AFTER_S[min(self._tries, len(AGAIN_AFTER_S) - 1)]
        self._tries += 1
