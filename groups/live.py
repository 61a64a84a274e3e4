"""The live sockets: a cluster's list, and one group.

Job: who may listen, a snapshot, then events with their stream ids, a ping each second.
Rules:
- A page of another site gets no socket: an Origin must be our own or a trusted one, and a session without an Origin is no
  browser of ours.
- First subscribe, then take the snapshot: what happens in between is told after it, though it may show it already.
- `since=<stream id>` gives what was missed and then a snapshot that is no older, and tells none of that again; an id that the
  stream no longer reaches, or a socket that fell behind, is told `gap` and starts anew from a snapshot.
- Rights are asked again every ten seconds and whenever one changed; who lost them is cut off with 4403.
Must not know: what the pages do with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import structlog
from asgiref.sync import sync_to_async
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.db import DatabaseError
from django.http import QueryDict
from django.utils import timezone
from redis.exceptions import RedisError
from rest_framework.exceptions import ValidationError

from groups import control, selectors
from groups.access import Principal, cluster_of, group_visible, require_visible
from groups.api.base import StrictSerializer, checked
from groups.api.parameters import GroupListParameters, group_query
from groups.authentication import principal_of_token, principal_of_user
from groups.changes import stable
from groups.feeds import feed_of
from groups.frames import ALIKE, encoded
from groups.hub import Batch, Order, Subscription, Watch
from groups.index import GroupRow
from groups.keys import id_of, key_of
from groups.missed import Missed, missed_since
from groups.problems import Problem
from groups.query import GroupQuery
from groups.redis_store import snapshot_of
from groups.rights import principal_since
from groups.times import iso, now_ms, with_twins
from groups.watches import GroupWatch, ListWatch
from kaas.feed.reader import BEGINNING, stream_order

DENIED, NOT_FOUND, BAD_REQUEST, TRY_AGAIN, FAILED = 4403, 4404, 4400, 1013, 1011
"""Close codes."""

PING_S = 1.0
CATCH_UP_S = 2.0
"""How long a snapshot waits for this process's reader, where Redis told of later events already."""

RIGHTS_EVERY_S = 10.0

Totals = tuple[int | None, str]
"""Lag and lag status of a group."""

_log = structlog.get_logger(__name__)


class LeftMeanwhile(Exception):
    """The other side went away while something was on its way to it."""


class LiveSocket(AsyncWebsocketConsumer, ABC):
    """What both sockets share: the door, the pump, the pings."""

    groups = (control.GROUP,)
    ping_s = PING_S

    async def connect(self) -> None:
        self._pump: asyncio.Task | None = None
        self._principal: Principal | None = None
        self._subscription = Subscription()
        self._replayed = stream_order(BEGINNING)
        try:
            await self._enter()
        except (Problem, ValidationError, ValueError) as refused:
            await self.close(NOT_FOUND if isinstance(refused, Problem) else BAD_REQUEST)
            return
        if self._principal is None:
            await self.close(DENIED)
            return
        await self.accept()
        self._feed.hub.join(self._subscription, self._watch)
        self._pump = asyncio.create_task(self._run())

    async def disconnect(self, code: int) -> None:
        if self._pump is None:
            return
        self._feed.hub.leave(self._subscription, self._watch)
        self._pump.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._pump

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Nothing is expected from the other side."""

    async def access_changed(self, message: dict[str, Any]) -> None:
        """Somewhere a right was taken away: ask at once, if it may be one of ours."""
        whose = message.get("user_id")
        if self._principal is None or whose not in (None, self._principal.user_id):
            return
        self._rights_changed_at = time.monotonic()
        self._subscription.wake()

    async def group_changed(self, message: dict[str, Any]) -> None:
        """A fact beside a group's description changed; only that group's socket shows it."""

    # The door

    async def _enter(self) -> None:
        self._rights_asked_at, self._rights_changed_at = time.monotonic(), float("-inf")
        self._principal = await self._who()
        if self._principal is None:
            return
        url = self.scope["url_route"]["kwargs"]
        self._cluster = cluster_of(self._principal, url["cluster"])
        self._feed = feed_of(self._cluster.name)
        given = QueryDict(self.scope["query_string"])
        self._since = given.get("since")
        self._configure(url, {name: value for name, value in given.lists() if name != "since"})
        self._watch = self._watch_of(self._principal)

    @abstractmethod
    def _watch_of(self, principal: Principal) -> Watch:
        """What this socket is told, if it is this principal's."""

    @abstractmethod
    def _configure(self, url: dict[str, str], given: dict[str, list[str]]) -> None:
        """Takes the address and its parameters. Raises Problem, ValidationError or ValueError for what is none."""

    async def _who(self) -> Principal | None:
        headers = {name.lower(): value.decode("latin-1") for name, value in self.scope["headers"]}
        origin, host = headers.get(b"origin"), headers.get(b"host", "")
        if origin is not None and not is_own_origin(origin, host):
            return None
        scheme, _, text = headers.get(b"authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return await database_sync_to_async(principal_of_token)(text.strip(), timezone.now())
        user = self.scope.get("user")
        if origin is None or user is None or not user.is_authenticated:
            return None
        return await database_sync_to_async(principal_of_user)(user, self.scope["session"].session_key)

    # The pump

    async def _run(self) -> None:
        try:
            await self._begin()
            while await self._turn():
                pass
        except LeftMeanwhile:
            pass  # nobody is there to be told, and the server says so to the socket itself
        except (Problem, RedisError, OSError) as problem:
            _log.info("socket_ended", problem=str(problem))
            await self._close_if_open(TRY_AGAIN)
        except Exception:
            # Without its pump a socket would stay open and tell nothing: better that the page comes back.
            _log.exception("socket_failed")
            await self._close_if_open(FAILED)

    async def _close_if_open(self, code: int) -> None:
        with contextlib.suppress(OSError, RuntimeError):  # the other side may be gone already
            await self.close(code)

    async def _begin(self) -> None:
        if self._since is not None:
            missed = await missed_since(self._cluster.name, self._since)
            if missed.gap is not None:
                await self._send({"type": "gap", "reason": missed.gap})
            await self._send_missed(missed)
            # The reader of this process may be behind what Redis answered just now.
            if missed.events and await self._feed.reached(missed.events[-1][0], CATCH_UP_S):
                self._replayed = stream_order(missed.events[-1][0])
        await self._send_snapshot()
        self._pinged_at = time.monotonic()

    async def _turn(self) -> bool:
        """Sends what came; false when the socket is closed for good."""
        batches = await self._subscription.take(self.ping_s)
        since = max(time.monotonic() - RIGHTS_EVERY_S, self._rights_changed_at)
        if self._rights_asked_at < since and not await self._may_stay(since):
            await self.close(DENIED)
            return False
        if self._subscription.lost is not None:
            await self._begin_anew()
            return True
        for batch in batches:
            await self._send_told(batch.after(self._replayed).seen_by(self._watch))
        if time.monotonic() - self._pinged_at >= self.ping_s:
            await self._ping()
        return True

    async def _begin_anew(self) -> None:
        reason = self._subscription.lost
        self._subscription.begin()
        await self._send({"type": "gap", "reason": reason})
        await self._send_snapshot()

    async def _may_stay(self, since: float) -> bool:
        try:
            principal, self._rights_asked_at = await principal_since(self._principal, since)
        except DatabaseError as problem:
            _log.warning("rights_not_asked", problem=str(problem))
            return True
        if principal is None or not self._still_sees(principal):
            return False
        self._principal, watch = principal, self._watch_of(principal)
        if watch != self._watch:
            self._feed.hub.leave(self._subscription, self._watch)
            self._feed.hub.join(self._subscription, watch)
            self._watch = watch
        return True

    def _still_sees(self, principal: Principal) -> bool:
        return principal.role_anywhere(self._cluster.name) is not None

    async def _ping(self) -> None:
        self._pinged_at = time.monotonic()
        await self._send(
            {"type": "ping", "at": iso(now_ms()), "snapshot_age_ms": self._feed.age_ms(), **self._vitals()}
        )

    def _vitals(self) -> dict[str, Any]:
        return {}

    async def _send(self, message: dict[str, Any]) -> None:
        await self._send_text(encoded(message))

    async def _send_batch(self, batch: Batch) -> None:
        if ALIKE not in self.scope.get("extensions", ()):
            for text in batch.frames.texts:
                await self._send_text(text)
        elif batch.told:
            with left_meanwhile():
                await self.base_send({"type": ALIKE, "frames": batch.frames})

    async def _send_text(self, text: str) -> None:
        with left_meanwhile():
            await self.send(text_data=text)

    @abstractmethod
    async def _send_snapshot(self) -> None:
        """Sends what there is now, with the stream id that it stands for."""

    @abstractmethod
    async def _send_missed(self, missed: Missed) -> None:
        """Sends the missed events that this socket would have been told."""

    @abstractmethod
    async def _send_told(self, told: Batch) -> None:
        """Sends events that are for this socket."""


class GroupListSocket(LiveSocket):
    """`/ws/clusters/{cluster}/groups/`: takes the list's parameters; tells of every group that matches them.

    Messages: `snapshot` with the page's `groups`, `total` and `counters`; `event` with the group's `item` as it then is,
    null when it is gone; `ping` with `totals`: lag and lag status of the snapshot's groups, where they changed since they
    were told last, because lag grows without any event of the group.
    """

    def _configure(self, url: dict[str, str], given: dict[str, list[str]]) -> None:
        values = {name: value if name in ("state", "type") else value[-1] for name, value in given.items()}
        self._totals: dict[str, Totals] = {}
        self._query: GroupQuery = group_query(checked(GroupListParameters, values))
        self._feed.require_loaded()

    def _watch_of(self, principal: Principal) -> ListWatch:
        return ListWatch.of(self._query, group_visible(principal, self._cluster.name))

    async def _send_snapshot(self) -> None:
        position = self._feed.reader.position
        # A list of tens of thousands takes some milliseconds: not on the loop that serves everybody.
        listed = sync_to_async(selectors.group_list, thread_sensitive=False)
        page = await listed(self._principal, self._cluster.name, self._query)
        items = page.pop("items")
        self._totals = {item["group_id"]: (item["total_lag"], item["lag_status"]) for item in items}
        await self._send({"type": "snapshot", "id": position, "groups": items, **page})

    async def _send_missed(self, missed: Missed) -> None:
        for stream_id, event in missed.events:
            if self._watch.question.visible(event["group_id"]):
                await self._send({"type": "event", "id": stream_id, "event": event})

    async def _send_told(self, told: Batch) -> None:
        for group_id in self._totals.keys() & told.rows.keys():
            if (row := told.rows[group_id]) is not None:
                self._totals[group_id] = totals_of(row)
        await self._send_batch(told)

    def _vitals(self) -> dict[str, Any]:
        rows, changed = self._feed.index.rows, []
        for group_id, before in self._totals.items():
            if (row := rows.get(group_id)) is not None and (now := totals_of(row)) != before:
                self._totals[group_id] = now
                changed.append(with_twins({"key": key_of(group_id), "total_lag": now[0], "lag_status": now[1]}))
        return {"totals": changed} if changed else {}


class GroupSocket(LiveSocket):
    """`/ws/clusters/{cluster}/groups/{group}/`: one group, also one that does not exist yet.

    Messages: `snapshot` with the `group` described or null; `event` with what `changes` in the description
    (groups.changes), null when the group is gone; `ping` with `heartbeats` by member, total lag and lag status.
    """

    def _configure(self, url: dict[str, str], given: dict[str, list[str]]) -> None:
        checked(StrictSerializer, given)
        self._group_id = id_of(url["group"])
        self._order: Order | None = None
        require_visible(self._principal, self._cluster, self._group_id)

    def _watch_of(self, principal: Principal) -> GroupWatch:
        return GroupWatch.of(principal, self._cluster, self._group_id)

    def _still_sees(self, principal: Principal) -> bool:
        return principal.role_on(self._cluster.name, self._group_id) is not None

    async def group_changed(self, message: dict[str, Any]) -> None:
        if (message["cluster"], message["group_id"]) == (self._cluster.name, self._group_id) and self._pump:
            await self._send_snapshot()

    async def _send_snapshot(self) -> None:
        position = self._feed.reader.position
        snapshot = await sync_to_async(snapshot_of, thread_sensitive=False)(self._cluster.name, self._group_id)
        group = None
        if snapshot is not None:
            self._order = (snapshot.coordinator_epoch, snapshot.version, snapshot.at)
            group = await database_sync_to_async(selectors.group_description)(self._principal, self._cluster, snapshot)
            self._feed.hub.described.setdefault(self._group_id, stable(self._feed.described(snapshot)))
        age = self._feed.age_ms()
        await self._send({"type": "snapshot", "id": position, "group": group, "snapshot_age_ms": age})

    async def _send_missed(self, missed: Missed) -> None:
        for stream_id, event in missed.events:
            if event["group_id"] == self._group_id:
                await self._send({"type": "event", "id": stream_id, "event": event, "changes": {}})

    async def _send_told(self, told: Batch) -> None:
        if self._order is None or told.oldest is None or told.oldest > self._order:
            await self._send_batch(told)
            return
        for one in told.told:  # the snapshot that this socket was given is newer than some of them
            known = one.order is not None and one.order <= self._order
            await self._send_text(self._watch.text(one, known=known and bool(one.changes)))

    def _vitals(self) -> dict[str, Any]:
        heartbeats, self._subscription.heartbeats = self._subscription.heartbeats, {}
        row = self._feed.index.rows.get(self._group_id)
        lag = {"total_lag": row.total_lag(), "lag_status": row.lag_status().value} if row else {}
        return {"heartbeats": {member: iso(at) for member, at in heartbeats.items()}, **lag}


@contextlib.contextmanager
def left_meanwhile() -> Iterator[None]:
    """The server refuses a message after the other side left, which the socket is told a moment later."""
    try:
        yield
    except RuntimeError as refused:
        raise LeftMeanwhile from refused


def totals_of(row: GroupRow) -> Totals:
    """What of a row changes without any event of its group."""
    return row.total_lag(), row.lag_status().value


def is_own_origin(origin: str, host: str) -> bool:
    """Whether a page's origin is the console's own, or one that KAAS_TRUSTED_ORIGINS names."""
    return urlsplit(origin).netloc == host or origin in settings.KAAS_TRUSTED_ORIGINS
