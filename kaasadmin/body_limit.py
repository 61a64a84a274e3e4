"""No body is larger than the API takes, whoever sends it.

Job: refuse a large body (413) before Django spools it to the disk.
Rules: a length that is told is believed; a body without one is counted as it comes. The answer is the API's error object.
Must not know: who asks, and for what.
"""

from __future__ import annotations

import json
from typing import Any

from groups.api.parsers import BODY_LIMIT, too_large

Scope = dict[str, Any]


class BodyLimit:
    """Wraps an ASGI application for HTTP."""

    def __init__(self, application: Any, limit: int = BODY_LIMIT) -> None:
        self._application = application
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if _told_length(scope) > self._limit:
            await _refuse(send)
            return
        came, refused = 0, False

        async def counted() -> dict[str, Any]:
            nonlocal came, refused
            message = await receive()
            came += len(message.get("body", b""))
            if came <= self._limit or refused:
                return message
            refused = True
            await _refuse(send)
            return {"type": "http.disconnect"}

        async def answered(message: dict[str, Any]) -> None:
            if not refused:
                await send(message)

        await self._application(scope, counted, answered)


def _told_length(scope: Scope) -> int:
    told = [value for name, value in scope["headers"] if name == b"content-length"]
    return int(told[0]) if told and told[0].isdigit() else 0


async def _refuse(send: Any) -> None:
    problem = too_large()
    body = json.dumps(problem.as_dict()).encode()
    # What is still on its way is not read: the connection ends with this answer.
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": problem.kind.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
