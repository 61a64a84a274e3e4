"""Sockets for the tests of live.py."""

from __future__ import annotations

import asyncio
from urllib.parse import quote

import pytest
from channels.routing import URLRouter

from groups.feeds import feed_of, running_feeds
from groups.routing import websocket_urlpatterns
from groups.testing.sockets import LiveClient


@pytest.fixture
async def listen(async_db, feed, api):
    """Opens sockets while the feed is read; all are closed after the test."""
    sockets = []
    application = URLRouter(websocket_urlpatterns)

    async def opened(path, token=api.token, **more):
        sockets.append(LiveClient(application, f"/ws/clusters/{quote(path, safe='/?=&~')}", token, **more))
        await sockets[-1].open()
        return sockets[-1]

    async with running_feeds():
        async with asyncio.timeout(10):
            while not feed_of("local").loaded:
                await asyncio.sleep(0.005)
        yield opened
        for socket in sockets:
            await socket.leave()
