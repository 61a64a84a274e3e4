"""What a socket missed while it was away: the events after the last id it saw.

Job: read the stream from an id on, or say why that cannot be done.
Rules: an id that the stream no longer reaches is a gap, and so is a distance too long to send.
Must not know: sockets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec
from asgiref.sync import sync_to_async

from groups.redis_store import redis_client
from groups.rows import event_row
from kaas.feed import keys
from kaas.feed.reader import stream_order
from kaas.feed.types import Event

EVENTS_REPLAYED = 5_000
"""A socket that missed more than that is better served by a snapshot."""

_decode_event = msgspec.json.Decoder(Event).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """Stream ids and events in their public shape, or the reason of a gap."""

    events: tuple[tuple[str, dict[str, Any]], ...] = ()
    gap: str | None = None


async def missed_since(cluster: str, stream_id: str) -> Missed:
    """The events after a stream id.

    Raises redis.exceptions.RedisError when Redis does not answer.
    """
    return await sync_to_async(_missed_since, thread_sensitive=False)(cluster, stream_id)


def _missed_since(cluster: str, stream_id: str) -> Missed:
    try:
        since = stream_order(stream_id)
    except ValueError:
        return Missed(gap="unknown_id")
    stream = keys.events(cluster)
    oldest = redis_client().xrange(stream, count=1)
    newest = redis_client().xrevrange(stream, count=1)
    if not oldest or stream_order(oldest[0][0].decode()) > since or stream_order(newest[0][0].decode()) < since:
        return Missed(gap="trimmed")
    entries = redis_client().xrange(stream, min=f"({since[0]}-{since[1]}", count=EVENTS_REPLAYED + 1)
    if len(entries) > EVENTS_REPLAYED:
        return Missed(gap="too_far_behind")
    return Missed(events=tuple(_readable(entries)))


def _readable(entries: list[tuple[bytes, dict[bytes, bytes]]]) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for entry_id, fields in entries:
        try:
            event = _decode_event(fields[keys.EVENT_FIELD])
        except (msgspec.DecodeError, KeyError):
            continue  # the feed's reader says so in the log
        found.append((entry_id.decode(), event_row(event)))
    return found
