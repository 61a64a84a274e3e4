"""Fan-out inside one process: from the one feed reader to every open socket of a cluster.

Job: who watches what, bounded queues, and handing each socket what it wants.
Rules:
- Everything here runs on the event loop.
- Sockets that watch the same are one audience: an event is matched and encoded once for all of them, and each is handed the
  same bytes, so that an event costs no more with a thousand sockets than with one.
- What comes while an audience rests goes out as one batch. After a batch it rests for as long as it has sockets to serve, so
  that telling them never takes more than a part of the processor; where it is calm an event goes out at once.
- A queue that is full is emptied and marked: its socket then says `gap` and starts anew from a snapshot, so no slow reader
  costs memory without end.
Must not know: Redis, Channels, who may see what.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from groups.frames import Frames, encoded
from groups.index import GroupRow
from groups.rows import list_item
from kaas.feed.reader import stream_order

QUEUE_LENGTH = 1_000
"""Events that a socket may be behind before it is told `gap`."""

REST_PER_SOCKET_S = 0.000_25
"""How long an audience rests after a batch, for each socket: serving one takes about a quarter of that."""

LONGEST_REST_S = 0.5

Order = tuple[int, int, int]
"""How new a description is: coordinator epoch, version, time."""


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
    order: Order | None = None

    @cached_property
    def list_text(self) -> str:
        """The message for lists, which carries the row as it now is."""
        item = None if self.after is None else list_item(self.event["cluster"], self.after)
        return encoded({"type": "event", "id": self.id, "event": self.event, "item": item})


class Watch(Hashable, Protocol):
    """What a socket wants to be told. Sockets whose watches are equal are told the same.

    `group_id` is null for a list.
    """

    @property
    def group_id(self) -> str | None: ...

    def shows(self, told: Told) -> bool:
        """Whether this event is for these sockets."""

    def text(self, told: Told) -> str:
        """The message that tells it."""


class Batch:
    """Events that one audience is told together, in their order."""

    def __init__(self, watch: Watch, told: tuple[Told, ...]) -> None:
        self.watch = watch
        self.told = told

    @cached_property
    def frames(self) -> Frames:
        """The messages."""
        return Frames(map(self.watch.text, self.told))

    @cached_property
    def rows(self) -> dict[str, GroupRow | None]:
        """The rows of the groups as they are after the last event about each."""
        return {told.group_id: told.after for told in self.told}

    @cached_property
    def oldest(self) -> Order | None:
        """How new the oldest description is that something in here changes; null where nothing does."""
        return min((told.order for told in self.told if told.changes and told.order is not None), default=None)

    def after(self, order: tuple[int, int]) -> Batch:
        """What of it came after a stream id."""
        if stream_order(self.told[0].id) > order:
            return self
        return Batch(self.watch, tuple(told for told in self.told if stream_order(told.id) > order))

    def seen_by(self, watch: Watch) -> Batch:
        """The same events for a socket that watches something else by now."""
        return self if watch == self.watch else Batch(watch, tuple(filter(watch.shows, self.told)))


class Subscription:
    """A socket's place in the fan-out: what it was told and has not sent yet."""

    def __init__(self, length: int = QUEUE_LENGTH) -> None:
        self.lost: str | None = None
        self.heartbeats: dict[str, int] = {}
        self._queue: deque[Batch] = deque()
        self._waiting = 0
        self._length = length
        self._ready = asyncio.Event()

    def put(self, batch: Batch) -> None:
        """Keeps a batch, of any size where nothing waits."""
        if self.lost is not None:
            return
        if self._waiting and self._waiting + len(batch.told) > self._length:
            self.lose("overflow")
            return
        self._queue.append(batch)
        self._waiting += len(batch.told)
        self._ready.set()

    def lose(self, reason: str) -> None:
        """Drops what waits: the socket must start anew. `reason` is one word for the `gap` message."""
        self._clear()
        self.lost = reason
        self._ready.set()

    def begin(self) -> None:
        """Starts anew: from now on what comes is kept."""
        self._clear()
        self.lost = None
        self._ready.clear()

    def wake(self) -> None:
        """Makes the socket look up, though nothing happened to a group."""
        self._ready.set()

    async def take(self, within_s: float) -> list[Batch]:
        """All that waits, or nothing when nothing came in that time."""
        try:
            async with asyncio.timeout(within_s):
                await self._ready.wait()
        except TimeoutError:
            return []
        self._ready.clear()
        waiting = list(self._queue)
        self._clear()
        return waiting

    def _clear(self) -> None:
        self._queue.clear()
        self._waiting = 0


class Audience:
    """The sockets that watch the same. `crowd` counts the sockets that are served at the same times."""

    def __init__(self, watch: Watch, crowd: Callable[[], int] | None = None) -> None:
        self.watch = watch
        self.subscriptions: set[Subscription] = set()
        self._crowd = crowd or self.subscriptions.__len__
        self._pending: list[Told] = []
        self._rests_until = 0.0
        self._due: asyncio.TimerHandle | None = None

    def tell(self, told: Told) -> None:
        """Takes an event in, if it is for these sockets: it goes out as soon as the audience does not rest."""
        if not self.watch.shows(told):
            return
        self._pending.append(told)
        if self._due is None:
            loop = asyncio.get_running_loop()
            self._due = loop.call_later(max(0.0, self._rests_until - loop.time()), self._hand_out)

    def _hand_out(self) -> None:
        batch = Batch(self.watch, tuple(self._pending))
        self._pending, self._due = [], None
        for subscription in self.subscriptions:
            subscription.put(batch)
        rest_s = min(LONGEST_REST_S, REST_PER_SOCKET_S * self._crowd())
        self._rests_until = asyncio.get_running_loop().time() + rest_s


class Hub:
    """The audiences of one cluster: those of the whole list, and by id those of one group each.

    `described` holds the description that the sockets of a watched group were told last.
    """

    def __init__(self) -> None:
        self.groups: dict[str, dict[Watch, Audience]] = {}
        self.described: dict[str, dict[str, Any]] = {}
        self._lists: dict[Watch, Audience] = {}
        self._list_count = 0

    @property
    def lists(self) -> set[Subscription]:
        """The subscriptions to the list."""
        return {one for audience in self._lists.values() for one in audience.subscriptions}

    def count(self) -> int:
        """How many sockets are open."""
        return sum(len(audience.subscriptions) for audience in self._audiences())

    def join(self, subscription: Subscription, watch: Watch) -> None:
        """Subscribes to what a watch shows."""
        if watch.group_id is None:
            # All lists are told of the same events: they share the rest, whatever each of them shows.
            audience = self._lists.setdefault(watch, Audience(watch, lambda: self._list_count))
            self._list_count += 1
        else:
            audience = self.groups.setdefault(watch.group_id, {}).setdefault(watch, Audience(watch))
        audience.subscriptions.add(subscription)

    def leave(self, subscription: Subscription, watch: Watch) -> None:
        """Ends a subscription; ending it twice does no harm."""
        rooms = self._lists if watch.group_id is None else self.groups.get(watch.group_id, {})
        audience = rooms.get(watch)
        if audience is None or subscription not in audience.subscriptions:
            return
        audience.subscriptions.discard(subscription)
        self._list_count -= watch.group_id is None
        if not audience.subscriptions:
            del rooms[watch]
        if watch.group_id is not None and not rooms:
            del self.groups[watch.group_id]
            self.described.pop(watch.group_id, None)

    def tell(self, told: Told) -> None:
        """Hands an event to whom it may concern."""
        for audience in self._lists.values():
            audience.tell(told)
        for audience in self.groups.get(told.group_id, {}).values():
            audience.tell(told)

    def pulse(self, heard: dict[str, dict[str, int]]) -> None:
        """Hands heartbeat times to the sockets of the groups that are watched."""
        for group_id in self.groups.keys() & heard.keys():
            for audience in self.groups[group_id].values():
                for subscription in audience.subscriptions:
                    subscription.heartbeats.update(heard[group_id])

    def lose_all(self, reason: str) -> None:
        """Makes every socket start anew."""
        for audience in self._audiences():
            for subscription in audience.subscriptions:
                subscription.lose(reason)

    def _audiences(self) -> Iterator[Audience]:
        yield from self._lists.values()
        for audiences in self.groups.values():
            yield from audiences.values()
