"""The coordinator: all groups of one broker, and the one door through which events come in.

Job: give each event to the module that decides about it; apply records once they are durable and tell their followers.
Rules: see the package. `handle` never fails on anything a client sent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kaas.coordinator import offsets, replay, retention, staging, timers
from kaas.coordinator.announcements import Cause, GroupCreated, GroupGone, PartitionsChanged
from kaas.coordinator.classic import heartbeat, join, leave, members, rebalance, sync
from kaas.coordinator.classic.group import ClassicGroup
from kaas.coordinator.config import CoordinatorConfig
from kaas.coordinator.core import Core, Follower
from kaas.coordinator.effects import Effect
from kaas.coordinator.ends import end
from kaas.coordinator.events import (
    ClockMoved,
    Commit,
    ConsumerHeartbeat,
    DeleteGroup,
    DeleteOffsets,
    EndStaged,
    Event,
    Heartbeat,
    Join,
    Leave,
    Loaded,
    PartitionsAdded,
    RegexesResolved,
    StageOffsets,
    Sync,
    TimerExpired,
    TopicDeleted,
    TopicKnown,
    Unload,
    WriteFailed,
    Written,
)
from kaas.coordinator.group import Group
from kaas.coordinator.modern import classic_join, classic_members, loading, patterns
from kaas.coordinator.modern import heartbeat as consumer_heartbeat
from kaas.coordinator.modern import leave as consumer_leave
from kaas.coordinator.modern.epochs import tell_holders, topic_changed
from kaas.coordinator.modern.group import Member as ConsumerMember
from kaas.coordinator.outbox import InFlight
from kaas.coordinator.records import GroupStable
from kaas.coordinator.transactions import adding, ending, expiry, producers
from kaas.coordinator.transactions.events import (
    AddToTransaction,
    EndTransaction,
    InitProducer,
    MarkersFailed,
    MarkersWritten,
)
from kaas.errors import ErrorCode
from kaas.wire.consumer_protocol import PROTOCOL_TYPE


class Coordinator(Core):
    """The core with a door: which module decides about which event, and what happens when a timer is due."""

    def __init__(self, config: CoordinatorConfig) -> None:
        super().__init__(config)
        self._deciders: dict[type, Callable[[Any, int], None]] = {
            Heartbeat: self._by_protocol(heartbeat.heartbeat, classic_members.heartbeat),
            Commit: partial(offsets.commit, self),
            ConsumerHeartbeat: partial(consumer_heartbeat.heartbeat, self),
            Join: self._by_protocol(join.join, classic_join.join),
            Sync: self._by_protocol(sync.sync, classic_members.sync),
            Leave: self._by_protocol(leave.leave, consumer_leave.leave_rows),
            StageOffsets: partial(staging.stage, self),
            EndStaged: partial(staging.end, self),
            InitProducer: partial(producers.init_producer, self),
            AddToTransaction: partial(adding.add, self),
            EndTransaction: partial(ending.end, self),
            MarkersWritten: partial(ending.markers_written, self),
            MarkersFailed: partial(ending.markers_failed, self),
            DeleteOffsets: lambda event, now: offsets.delete_offsets(self, event),
            DeleteGroup: partial(offsets.delete_group, self),
            TimerExpired: self._timer_expired,
            Written: self._written,
            WriteFailed: self._write_failed,
            ClockMoved: self._clock_moved,
            PartitionsAdded: self._partitions_added,
            TopicKnown: self._topic_known,
            TopicDeleted: self._topic_deleted,
            RegexesResolved: partial(patterns.resolved, self),
            Loaded: self._loaded,
            Unload: self._unload,
        }
        self._expiries: dict[str, Callable[[ClassicGroup, str, int], None]] = {
            "session": self._member_timer(leave.session_expired),
            "new_member": self._member_timer(join.new_member_expired),
            "pending_member": lambda g, member_id, now: join.pending_member_expired(self, g, member_id, now),
            "initial_delay": lambda g, _, now: rebalance.initial_delay_expired(self, g, now),
            "rebalance": lambda g, _, now: rebalance.rebalance_timeout_expired(self, g, now),
            "sync": lambda g, _, now: rebalance.sync_expired(self, g, now),
        }
        self._consumer_expiries: dict[str, Callable[[Core, Group, ConsumerMember, int], None]] = {
            "session": consumer_leave.session_expired,
            "revocation": consumer_leave.revocation_expired,
            "rejoin": classic_members.rejoin_expired,
            "resync": classic_members.resync_expired,
        }
        self._transaction_expiries = {"transaction": ending.timed_out, "markers": ending.markers_due}
        self._rounds = {timers.RETENTION: retention.step, timers.TRANSACTION_EXPIRY: expiry.step}

    def handle(self, event: Event, now_ms: int) -> list[Effect]:
        """Decide about one event. The effects are to be carried out in order."""
        self.decide(event, now_ms)
        return self.out.take()

    def decide(self, event: Event, now_ms: int) -> None:
        """As `handle`; the effects wait in `out`, behind those of events that were decided before and not taken yet."""
        self._deciders[type(event)](event, now_ms)
        while self.again:
            event = self.again.popleft()
            self._deciders[type(event)](event, now_ms)

    def _by_protocol(
        self, classic: Callable[[Core, Any, int], None], consumer: Callable[[Core, Group, Any, int], None]
    ) -> Callable[[Any, int], None]:
        """A request of the classic protocol, which a consumer group serves in its own way."""

        def decide(event: Any, now_ms: int) -> None:
            _, group = self.find(event.group_id)
            if group is None or group.modern is None:
                classic(self, event, now_ms)
            else:
                consumer(self, group, event, now_ms)

        return decide

    # Events that are not requests

    def _member_timer(
        self, decide: Callable[[Core, ClassicGroup, Any, int], None]
    ) -> Callable[[ClassicGroup, str, int], None]:
        def expired(group: ClassicGroup, member_id: str, now_ms: int) -> None:
            member = group.members.get(member_id)
            if member is not None:
                decide(self, group, member, now_ms)

        return expired

    def _timer_expired(self, event: TimerExpired, now_ms: int) -> None:
        if event.key in self._rounds:
            self._rounds[event.key](self, now_ms)
            return
        kind, group_id, member_id = (*event.key, "")[:3]
        if kind in self._transaction_expiries:
            self._transaction_expiries[kind](self, group_id, now_ms)
            return
        group = self.groups.get(group_id)
        if group is None:
            return
        if group.modern is None:
            self._expiries[kind](group.classic, member_id, now_ms)
        elif member_id in group.modern.members:
            self._consumer_expiries[kind](self, group, group.modern.members[member_id], now_ms)

    def _written(self, event: Written, now_ms: int) -> None:
        for settled in self.out.settle(event.up_to):
            self._apply(settled)
            if settled.follower is not None:
                settled.follower.written(self, now_ms)

    def _write_failed(self, event: WriteFailed, now_ms: int) -> None:
        assert not self.out.in_flight or self.out.in_flight[0].seq >= event.first
        for settled in self.out.settle(event.last):
            if settled.follower is not None:
                settled.follower.failed(self, now_ms)

    def _apply(self, durable: InFlight[Follower]) -> None:
        """Put a durable record into the state."""
        group_id, groups = durable.group_id, self.groups
        is_new = group_id not in groups
        group = replay.apply(groups, group_id, durable.record, self.wall_offset_ms)
        if group is not None:
            group.epoch = durable.epoch
            group.version = durable.seq
            if is_new:
                self.out.announce(group_id, GroupCreated())

    def _clock_moved(self, event: ClockMoved, now_ms: int) -> None:
        self.wall_offset_ms = event.wall_offset_ms

    def _loaded(self, event: Loaded, now_ms: int) -> None:
        """Members get a full session from here on; numbers that may have been given out are spent."""
        self.loading = False
        for group in self.groups.values():
            if group.modern is not None:
                loading.loaded(self, group.modern, now_ms)
            else:
                self._classic_loaded(group, now_ms)
        for holder in self.transactions.values():
            ending.resume(self, holder, now_ms)
        self.out.set_timer(timers.RETENTION, now_ms + self.config.offsets_retention_check_interval_ms)
        self.out.set_timer(timers.TRANSACTION_EXPIRY, now_ms + self.config.transaction_remove_expired_interval_ms)

    def _classic_loaded(self, group: Group, now_ms: int) -> None:
        classic = group.classic
        classic.spent = classic.reserving = classic.reserved
        for member in classic.members.values():
            members.restart_session(self, classic, member, now_ms)
        reason = None
        if len(classic.members) > self.config.max_size:  # KAFKA-9885: those who come back first stay
            reason = "more members than group.max.size"
        elif isinstance(group.stored, GroupStable) and not group.stored.is_shared_out:
            reason = "a member under KIP-848 had just gone"
        if reason is not None:
            cause = Cause(kind="coordinator_moved", detail={"reason": reason})
            rebalance.prepare(self, classic, cause, now_ms)

    def _topic_known(self, event: TopicKnown, now_ms: int) -> None:
        self.topics.put(event.topic)
        topic_changed(self, event.topic.name)

    def _topic_deleted(self, event: TopicDeleted, now_ms: int) -> None:
        tell_holders(self, event.topic)
        self.topics.drop(event.topic)
        topic_changed(self, event.topic)
        offsets.delete_topic(self, event)

    def _partitions_added(self, event: PartitionsAdded, now_ms: int) -> None:
        """Every classic group that subscribes to the topic shares it out anew."""
        for group in self.groups.values():
            classic = group.classic
            if not classic.members or classic.protocol_type != PROTOCOL_TYPE:
                continue
            subscribed = classic.subscribed()
            if subscribed is None or event.topic in subscribed:
                self.out.announce(group.group_id, PartitionsChanged(topic=event.topic))
                cause = Cause(kind="partitions_changed", detail={"topics": [event.topic]})
                rebalance.prepare_or_complete(self, classic, [cause], now_ms)

    def _unload(self, event: Unload, now_ms: int) -> None:
        """Another broker has the group: whoever waits is sent there, and nothing of it stays or becomes here.

        A record in flight may be durable or not when the other broker reads the journal, so it is told as failed.
        """
        group = self.groups.pop(event.group_id, None)
        if group is not None:
            members.send_away(self, group.classic, ErrorCode.NOT_COORDINATOR)
            end(self, group, now_ms)
            gone = GroupGone(kind="coordinator_lost", assignment_version=event.assignment_version)
            self.out.announce(event.group_id, gone)
        for follower in self.out.disown(event.group_id):
            follower.failed(self, now_ms)
