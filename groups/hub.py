"""Fan-out inside one process: from the one feed reader to every open socket of a cluster.

Job: subscriptions with bounded queues, and handing each what it may want.
Rules: everything here runs on the event loop. A queue that is full is emptied and marked: its socket then says `gap` and
starts anew from a snapshot, so no slow reader costs memory without end. A message is encoded once for all sockets.
Must not know: Redis, Channels, who may see what.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from groups.index import GroupRow
from groups.rows import list_item

QUEUE_LENGTH = 1_000
"""Events that a socket may be behind before it is told `gap`."""

_encode = msgspec.json.Encoder().encode


def encoded(message: dict[str, Any]) -> str:
    """A socket message as JSON text."""
    return _encode(message).decode()


@dataclass(frozen=True, kw_only=True)
class Told:
    """One event for sockets: its stream id, its public shape, the group's row before and after it, and for watched groups
    what changed in the description (null when the group is gone). `order` tells how new the description is."""

    id: str
    event: dict[str, Any]
    group_id: str
    before: GroupRow | None
    after: GroupRow | None
    changes: dict[str, Any] | None = None
    order: tuple[int, int, int] | None = None

    @cached_property
    def list_text(self) -> str:
        """The message for lists, which carries the row as it now is."""
        item = None if self.after is None else list_item(self.event["cluster"], self.after)
        return encoded({"type": "event", "id": self.id, "event": self.event, "item": item})


class Subscription:
    """A socket's place in the fan-out: what it was told and has not sent yet."""

    def __init__(self, length: int = QUEUE_LENGTH) -> None:
        self.lost: str | None = None
        self.heartbeats: dict[str, int] = {}
        self._queue: deque[Told] = deque()
        self._length = length
        self._ready = asyncio.Event()

    def put(self, told: Told) -> None:
        if self.lost is not None:
            return
        if len(self._queue) >= self._length:
            self.lose("overflow")
            return
        self._queue.append(told)
        self._ready.set()

    def lose(self, reason: str) -> None:
        """Drops what waits: the socket must start anew. `reason` is one word for the `gap` message."""
        self._queue.clear()
        self.lost = reason
        self._ready.set()

    def begin(self) -> None:
        """Starts anew: from now on what comes is kept."""
        self._queue.clear()
        self.lost = None
        self._ready.clear()

    def wake(self) -> None:
        """Makes the socket look up, though nothing happened to a group."""
        self._ready.set()

    async def take(self, within_s: float) -> list[Told]:
        """All that waits, or nothing when nothing came in that time."""
        try:
            async with asyncio.timeout(within_s):
                await self._ready.wait()
        except TimeoutError:
            return []
        self._ready.clear()
        waiting = list(self._queue)
        self._queue.clear()
        return waiting


class Hub:
    """The subscriptions of one cluster: those to the whole list, and those to one group each.

    `described` holds the description that the sockets of a watched group were told last.
    """

    def __init__(self) -> None:
        self.lists: set[Subscription] = set()
        self.groups: dict[str, set[Subscription]] = {}
        self.described: dict[str, dict[str, Any]] = {}

    def count(self) -> int:
        """How many sockets are open."""
        return len(self.lists) + sum(map(len, self.groups.values()))

    def join(self, subscription: Subscription, group_id: str | None) -> None:
        """Subscribes to one group, or with null to the list."""
        if group_id is None:
            self.lists.add(subscription)
        else:
            self.groups.setdefault(group_id, set()).add(subscription)

    def leave(self, subscription: Subscription, group_id: str | None) -> None:
        """Ends a subscription; ending it twice does no harm."""
        if group_id is None:
            self.lists.discard(subscription)
            return
        watching = self.groups.get(group_id, set())
        watching.discard(subscription)
        if not watching:
            self.groups.pop(group_id, None)
            self.described.pop(group_id, None)

    def tell(self, told: Told) -> None:
        """Hands an event to whom it may concern."""
        for subscription in self.lists:
            subscription.put(told)
        for subscription in self.groups.get(told.group_id, ()):
            subscription.put(told)

    def pulse(self, heard: dict[str, dict[str, int]]) -> None:
        """Hands heartbeat times to the sockets of the groups that are watched."""
        for group_id in self.groups.keys() & heard.keys():
            for subscription in self.groups[group_id]:
                subscription.heartbeats.update(heard[group_id])

    def lose_all(self, reason: str) -> None:
        """Makes every socket start anew."""
        for subscription in [*self.lists, *(one for watching in self.groups.values() for one in watching)]:
            subscription.lose(reason)
