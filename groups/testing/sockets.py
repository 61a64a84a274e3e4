"""A socket as a test sees it: JSON in order, pings set aside.

Job: open a live socket in an ASGI application and read what it is told.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from typing import Any

from asgiref.testing import ApplicationCommunicator

from groups.frames import ALIKE

HOST = "testserver"
PATIENCE_S = 10.0


class LiveClient:
    """One socket. `pings` are those that came while something else was waited for; `close_code` is set when it was refused
    or closed. `alike` is a server that sends many sockets the same (groups.frames)."""

    def __init__(
        self,
        application: Any,
        path: str,
        token: str | None = None,
        origin: str | None = None,
        cookie: str | None = None,
        alike: bool = False,
    ) -> None:
        headers = [(b"host", HOST.encode())]
        if cookie is not None:
            headers.append((b"cookie", cookie.encode()))
        if token is not None:
            headers.append((b"authorization", f"Bearer {token}".encode()))
        if origin is not None:
            headers.append((b"origin", origin.encode()))
        path, _, query = path.partition("?")
        scope = {
            "type": "websocket",
            "path": path,
            "query_string": query.encode(),
            "headers": headers,
            "subprotocols": [],
            "extensions": {ALIKE: {}} if alike else {},
        }
        self._together: deque[str] = deque()
        self._socket = ApplicationCommunicator(application, scope)
        self.pings: list[dict[str, Any]] = []
        self.close_code: int | None = None

    async def open(self) -> bool:
        """Whether the door opened."""
        await self._socket.send_input({"type": "websocket.connect"})
        answer = await self._socket.receive_output(PATIENCE_S)
        self.close_code = answer.get("code")
        return answer["type"] == "websocket.accept"

    async def next(self) -> dict[str, Any]:
        """The next message that is no ping."""
        while True:
            message = await self.any()
            if message["type"] != "ping":
                return message
            self.pings.append(message)

    async def any(self) -> dict[str, Any]:
        """The next message."""
        if not self._together:
            output = await self._socket.receive_output(PATIENCE_S)
            assert output["type"] in ("websocket.send", ALIKE), output
            self._together.extend(output["frames"].texts if output["type"] == ALIKE else [output["text"]])
        return json.loads(self._together.popleft())

    async def closed(self) -> int:
        """The code with which the other side closes."""
        while True:
            output = await self._socket.receive_output(PATIENCE_S)
            if output["type"] == "websocket.close":
                self.close_code = output["code"]
                return output["code"]

    async def say(self, text: str) -> None:
        """Sends something, which nobody expects."""
        await self._socket.send_input({"type": "websocket.receive", "text": text})

    async def leave(self) -> None:
        """Goes away; doing so twice does no harm."""
        if self._socket.future.done():
            return
        await self._socket.send_input({"type": "websocket.disconnect", "code": 1000})
        with contextlib.suppress(asyncio.CancelledError):
            await self._socket.wait(PATIENCE_S)
