"""Rare messages to the sockets of every web process: a right changed, a fact beside a group's description changed.

Job: the channel layer's one group, and what is sent there.
Rules: losing such a message costs seconds, not correctness: sockets ask again by themselves. So a Redis that does not
answer is logged and stops nobody.
Must not know: what the sockets do.
"""

from __future__ import annotations

from typing import Any

import structlog
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

GROUP = "control"

_log = structlog.get_logger(__name__)


def access_changed(user_id: int | None = None) -> None:
    """Makes the sockets of one user, or with null of everybody, ask at once whether they may still see what they show."""
    _send({"type": "access.changed", "user_id": user_id})


def group_changed(cluster: str, group_id: str) -> None:
    """Makes the sockets of one group show it anew: something beside the feed changed."""
    _send({"type": "group.changed", "cluster": cluster, "group_id": group_id})


def _send(message: dict[str, Any]) -> None:
    try:
        async_to_sync(get_channel_layer().group_send)(GROUP, message)
    except (RedisError, OSError) as problem:
        _log.warning("control_message_lost", message=message["type"], problem=str(problem))
