"""kaasadmin.body_limit."""

from __future__ import annotations

import json

import pytest
from asgiref.testing import ApplicationCommunicator

from kaasadmin.body_limit import BodyLimit

LIMIT = 10


async def application(scope, receive, send):
    """Answers with what came, once all of it is there."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            await send({"type": "http.response.start", "status": 500, "headers": []})
            return
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def ask(*pieces, length=None):
    headers = [] if length is None else [(b"content-length", str(length).encode())]
    caller = ApplicationCommunicator(BodyLimit(application, LIMIT), {"type": "http", "headers": headers})
    for number, piece in enumerate(pieces, 1):
        await caller.send_input({"type": "http.request", "body": piece, "more_body": number < len(pieces)})
    start, body = await caller.receive_output(), await caller.receive_output()
    await caller.wait()
    return start["status"], body["body"]


async def test_a_body_within_the_limit_passes():
    assert await ask(b"x" * 5, b"x" * 5) == (200, b"x" * 10)
    assert await ask(b"", length=0) == (200, b"")
    assert await ask(b"x", length="nonsense") == (200, b"x")


@pytest.mark.parametrize("pieces", [(b"x" * 11,), (b"x" * 10, b"x"), (b"x" * 6, b"x" * 6, b"x" * 6)])
async def test_one_without_a_length_is_counted_as_it_comes(pieces):
    status, body = await ask(*pieces)
    assert status == 413 and json.loads(body)["kind"] == "too_large"


async def test_one_that_says_it_is_too_long_is_not_even_read():
    status, body = await ask(length=LIMIT + 1)
    assert status == 413 and json.loads(body)["retriable"] is False
