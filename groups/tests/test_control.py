"""groups.control."""

from __future__ import annotations

import pytest
import structlog
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer

from groups import control


@pytest.fixture
async def heard(feed):
    """A channel that hears what is sent to the sockets."""
    layer = get_channel_layer()
    channel = await layer.new_channel()
    await layer.group_add(control.GROUP, channel)
    return lambda: layer.receive(channel)


async def test_sockets_of_every_process_are_told(heard):
    await sync_to_async(control.access_changed)()
    assert (await heard())["type"] == "access.changed"
    await sync_to_async(control.group_changed)("local", "a/b")
    told = await heard()
    assert (told["type"], told["cluster"], told["group_id"]) == ("group.changed", "local", "a/b")


def test_a_redis_that_is_away_stops_nobody(settings):
    layer = {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer"}
    settings.CHANNEL_LAYERS = {"default": {**layer, "CONFIG": {"hosts": ["unix:///nowhere/valkey.sock"]}}}
    with structlog.testing.capture_logs() as logs:
        control.access_changed()
    assert [line["event"] for line in logs] == ["control_message_lost"]
