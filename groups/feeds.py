"""The feeds of this process: one reader per cluster, and what it keeps and hands on.

Job: from the reader's callbacks to the index and the hub; how old and how complete what we know is.
Rules: one ClusterFeed per cluster and process, reached by `feed_of`; only the ASGI process runs the readers, and a
process without them has an empty index and says so. One age for everything: that of the brokers' own words.
Must not know: requests, sockets' protocol.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import msgspec
import structlog
from django.conf import settings

from groups.changes import changes, stable
from groups.clusters import Cluster, clusters
from groups.extension import group_emptied
from groups.hub import Hub, Told
from groups.index import GroupIndex, GroupRow
from groups.lag.judging import judge
from groups.lag.window import TICK_MS
from groups.problems import NOT_CONNECTED, Problem, not_connected
from groups.rows import describe, event_row, topics_of
from groups.tallies import Tallies
from groups.times import now_ms
from kaas.feed.reader import Entry, FeedReader, stream_order
from kaas.feed.types import BrokerView, Snapshot

SILENT_AFTER_MS = 5_000
"""A broker writes each second; one that was not heard for so long is said to be silent."""

_decode_snapshot = msgspec.json.Decoder(Snapshot).decode
_log = structlog.get_logger(__name__)


class ClusterFeed:
    """What this process knows of one cluster; the listener of its reader.

    `tallies` counts what happened since the process began.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.index = GroupIndex()
        self.hub = Hub()
        self.loaded = False
        self.tallies = Tallies()
        self.reader = FeedReader(cluster=cluster.name, url=settings.KAAS_REDIS_URL, listener=self)
        self._named: set[str] = set()
        self._moved = asyncio.Event()

    def age_ms(self, broker_id: int | None = None) -> int | None:
        """How old the data is: the time since its broker last told anything; of several the oldest that still speaks.

        Null when no broker ever told anything.
        """
        now = now_ms()
        if broker_id is not None and broker_id in self.index.brokers:
            return max(0, now - self.index.brokers[broker_id].at)
        ages = [max(0, now - broker.at) for broker in self.index.brokers.values()]
        speaking = [age for age in ages if age <= SILENT_AFTER_MS]
        return max(speaking) if speaking else min(ages, default=None)

    def silent_brokers(self) -> list[BrokerView]:
        """The brokers that were not heard for a while: what they coordinate may be out of date."""
        now = now_ms()
        brokers = sorted(self.index.brokers.values(), key=lambda broker: broker.id)
        return [broker for broker in brokers if now - broker.at > SILENT_AFTER_MS]

    def problems(self) -> list[dict[str, Any]]:
        """What makes a list less than whole, as rows of its `errors`."""
        rows = []
        if self.reader.is_cut_off():
            rows.append(not_connected(f"feed of {self.cluster.name}", "the console is cut off from Redis").as_dict())
        for broker in self.silent_brokers():
            seconds = (now_ms() - broker.at) // 1_000
            message = f"Broker {broker.id} has been silent for {seconds} s: its groups may be out of date."
            problem = Problem(kind=NOT_CONNECTED, resource=f"broker {broker.id}", message=message, code="BROKER_SILENT")
            rows.append(problem.as_dict())
        return rows

    async def reached(self, stream_id: str, within_s: float) -> bool:
        """Whether what is known here stands for this stream id too; waits for it so long."""
        wanted = stream_order(stream_id)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while not self._stands_for(wanted):
                    await self._moved.wait()
        return self._stands_for(wanted)

    def _stands_for(self, wanted: tuple[int, int]) -> bool:
        return self.reader.position is not None and stream_order(self.reader.position) >= wanted

    def _move(self) -> None:
        """Wakes who waits for the reader to come further."""
        self._moved.set()
        self._moved = asyncio.Event()

    def require_loaded(self) -> None:
        """Raises Problem (503) as long as the feed was never read whole."""
        if not self.loaded:
            raise not_connected(f"feed of {self.cluster.name}", "it was not read yet")

    # What the reader tells

    def load_began(self) -> None:
        self._named = set()

    def group_loaded(self, group_id: str, snapshot: bytes) -> None:
        self._named.add(group_id)
        self.index.put(snapshot)

    def load_ended(self, stream_id: str) -> None:
        for group_id in self.index.rows.keys() - self._named:
            self.index.drop(group_id)
        self._named = set()
        self.loaded = True
        self.hub.lose_all("resync")
        self._move()
        # The rows stay for long: the collector need not walk tens of thousands of them again and again.
        gc.collect()
        gc.freeze()

    def events_came(self, entries: Sequence[Entry], snapshots: Mapping[str, bytes | None]) -> None:
        before = {group_id: self.index.rows.get(group_id) for group_id in snapshots}
        for group_id, snapshot in snapshots.items():
            self._take(group_id, snapshot)
        if self.hub.count():
            self._tell_sockets(entries, before, snapshots)
        for entry in entries:
            self._note(entry)
        self._move()

    def topics_changed(self, views: Mapping[str, bytes | None]) -> None:
        for topic, view in views.items():
            self.index.topic(topic, view)

    def brokers_changed(self, views: Mapping[str, bytes | None]) -> None:
        for broker_id, view in views.items():
            self.index.broker(broker_id, view)

    async def judge_ever(self) -> None:
        """Judges the lag of every group at each tick, for as long as this is awaited. While the feed is cut off nothing is
        judged: what stands still then is our knowledge, not the groups."""
        while True:
            await asyncio.sleep(TICK_MS / 1_000)
            if not self.loaded or self.reader.is_cut_off():
                continue
            try:
                for _ in judge(self.index, now_ms()):
                    await asyncio.sleep(0)
            except Exception:
                _log.exception("judging_failed", cluster=self.cluster.name)

    def pulse_came(self, pulse: bytes) -> None:
        self.hub.pulse(self.index.pulse(pulse))

    # What follows from it

    def described(self, snapshot: Snapshot) -> dict[str, Any]:
        """A group's description from a snapshot and what this process knows beside it."""
        logs = self.index.topics
        views = {topic: logs[topic].view() for topic in topics_of(snapshot) if topic in logs and logs[topic].known}
        row = self.index.rows.get(snapshot.group_id)
        heartbeats = self.index.heartbeats.get(snapshot.group_id, {})
        return describe(snapshot, views, heartbeats, now_ms(), row.verdict if row else None)

    def _take(self, group_id: str, snapshot: bytes | None) -> None:
        if snapshot is None:
            self.index.drop(group_id)
        else:
            self.index.put(snapshot)

    def _tell_sockets(
        self,
        entries: Sequence[Entry],
        before: Mapping[str, GroupRow | None],
        snapshots: Mapping[str, bytes | None],
    ) -> None:
        """Of several events of one group in a batch, the last one carries what changed."""
        last = {entry.event.group_id: entry.id for entry in entries}
        for entry in entries:
            is_last = last[entry.event.group_id] == entry.id
            self.hub.tell(self._told(entry, before, snapshots if is_last else {}))

    def _told(self, entry: Entry, before: Mapping[str, GroupRow | None], snapshots: Mapping[str, bytes | None]) -> Told:
        group_id = entry.event.group_id
        changed: dict[str, Any] | None = {}
        if group_id in snapshots and group_id in self.hub.groups:
            changed = self._changes(group_id, snapshots[group_id])
        row = self.index.rows.get(group_id)
        return Told(
            id=entry.id,
            event=event_row(entry.event),
            group_id=group_id,
            before=before[group_id],
            after=row,
            changes=changed,
            order=row.order if row else None,
        )

    def _changes(self, group_id: str, snapshot: bytes | None) -> dict[str, Any] | None:
        held = self.hub.described.get(group_id)
        if snapshot is None:
            self.hub.described.pop(group_id, None)
            return None
        now = stable(self.described(_decode_snapshot(snapshot)))
        self.hub.described[group_id] = now
        return changes(held, now)

    def _note(self, entry: Entry) -> None:
        event = entry.event
        self.tallies.note(event, now_ms())
        if event.kind == "state_changed" and event.after == "Empty":
            for receiver, problem in group_emptied.send_robust(
                sender=type(self), cluster=self.cluster.name, group_id=event.group_id
            ):
                if isinstance(problem, Exception):
                    _log.error("group_emptied_failed", receiver=repr(receiver), exc_info=problem)


_feeds: dict[str, ClusterFeed] = {}


def feed_of(cluster: str) -> ClusterFeed:
    """This process's feed of a cluster. Raises KeyError for a cluster that is not in the registry."""
    if cluster not in _feeds:
        _feeds[cluster] = ClusterFeed(clusters()[cluster])
    return _feeds[cluster]


def forget_feeds() -> None:
    """Begins anew with empty feeds: for tests."""
    _feeds.clear()


@contextlib.asynccontextmanager
async def running_feeds() -> AsyncIterator[None]:
    """Runs the reader of every cluster, and the judging of its groups, for as long as the block lasts."""
    work = [(name, feed_of(name)) for name in clusters()]
    tasks = [asyncio.create_task(feed.reader.run(), name=f"feed of {name}") for name, feed in work]
    tasks += [asyncio.create_task(feed.judge_ever(), name=f"judging of {name}") for name, feed in work]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
