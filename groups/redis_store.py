"""Single looks into the feed's hashes, for what is not kept in this process: one group whole, the log ends it needs.

Job: snapshots and topic views by name, decoded; the same answers in web and worker processes.
Rules: one client per server and process, with short timeouts; a server that does not answer is a Problem (503), never a
wait without end.
Must not know: who asks.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import msgspec
from django.conf import settings
from redis import Redis
from redis.exceptions import RedisError

from groups.problems import Problem, not_connected
from kaas.feed import keys
from kaas.feed.types import Snapshot, TopicView

_TIMEOUT_S = 2.0

_decode_snapshot = msgspec.json.Decoder(Snapshot).decode
_decode_topic = msgspec.json.Decoder(TopicView).decode


def redis_client() -> Redis:
    """This process's client of the feed's server; safe in threads."""
    return _client(settings.KAAS_REDIS_URL)


@lru_cache(maxsize=4)
def _client(url: str) -> Redis:
    return Redis.from_url(url, socket_timeout=_TIMEOUT_S, socket_connect_timeout=_TIMEOUT_S)


def feed_is_away(problem: Exception) -> Problem:
    """The problem that stands for a Redis server without an answer."""
    return not_connected("feed", str(problem) or type(problem).__name__)


def snapshot_of(cluster: str, group_id: str) -> Snapshot | None:
    """One group as the feed has it now, null when it has none.

    Raises Problem (503) when Redis does not answer, or holds what is no snapshot.
    """
    try:
        value = redis_client().hget(keys.groups(cluster), group_id)
        return None if value is None else _decode_snapshot(value)
    except (RedisError, msgspec.DecodeError) as problem:
        raise feed_is_away(problem) from problem


def topic_views(cluster: str, topics: Iterable[str]) -> dict[str, TopicView]:
    """The log ends of these topics, without those that the cluster does not list.

    Raises Problem (503) when Redis does not answer, or holds what is no TopicView.
    """
    names = sorted(set(topics))
    if not names:
        return {}
    try:
        values = redis_client().hmget(keys.topics(cluster), names)
        found = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        return {name: _decode_topic(value) for name, value in found.items()}
    except (RedisError, msgspec.DecodeError) as problem:
        raise feed_is_away(problem) from problem
