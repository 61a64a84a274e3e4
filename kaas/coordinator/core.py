"""What the deciding modules work on: the groups and transactions of one broker, and what is in flight.

Job: hold the state; answer the questions and take the steps that several decisions share; say what a decision may want done
once its record is durable.
Rules: see the package. Only the coordinator hands events to decisions; a decision that wants one judged anew leaves it in
`again`.
Must not know: who decides about which event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from kaas.coordinator import timers
from kaas.coordinator.announcements import GroupCreated
from kaas.coordinator.classic.group import ClassicGroup
from kaas.coordinator.config import CoordinatorConfig, GroupConfig
from kaas.coordinator.events import Event
from kaas.coordinator.group import Group, new_group
from kaas.coordinator.outbox import Outbox
from kaas.coordinator.topics import Topics
from kaas.coordinator.transactions.holder import Holder
from kaas.errors import ErrorCode

TAKEN = ErrorCode.NONE
"""Asked for at each request: a name costs a third of what a member of an enumeration does."""


class Core:
    """Groups and transactions by id, and what is in flight to the journal.

    `group_configs`: what single groups have for themselves, by id; a group need not be there to have some.
    `loading`: the state on disk is still being read. `broken`: groups whose stored state cannot be read, with the reason;
    they answer that they are loading until an operator decides. `retention_queue`: groups that this round of the retention
    check has not looked at yet; `expiry_queue` the same of transactional ids. `again`: events that are to be decided about
    before anything else happens.
    """

    def __init__(self, config: CoordinatorConfig) -> None:
        self.config = config
        self.group_configs: Mapping[str, GroupConfig] = {}
        self.groups: dict[str, Group] = {}
        self.topics = Topics()
        self.transactions: dict[str, Holder] = {}
        self.broken: Mapping[str, str] = {}
        self.broken_transactions: Mapping[str, str] = {}
        self.loading = True
        self.out: Outbox[Follower] = Outbox()
        self.again: deque[Event] = deque()
        self.wall_offset_ms = 0
        self.retention_queue: list[str] = []
        self.expiry_queue: list[str] = []

    def wall_ms(self, now_ms: int) -> int:
        """Wall time, ms since 1970."""
        return now_ms + self.wall_offset_ms

    def consumer_session_timeout_ms(self, group_id: str) -> int:
        """How long a member of a consumer group may be silent."""
        own = self.group_configs.get(group_id)
        if own is None or own.consumer_session_timeout_ms is None:
            return self.config.consumer_session_timeout_ms
        return own.consumer_session_timeout_ms

    def consumer_heartbeat_interval_ms(self, group_id: str) -> int:
        """How often members of a consumer group are told to be heard."""
        own = self.group_configs.get(group_id)
        if own is None or own.consumer_heartbeat_interval_ms is None:
            return self.config.consumer_heartbeat_interval_ms
        return own.consumer_heartbeat_interval_ms

    def is_loading(self, group_id: str) -> bool:
        """Whether the state of this group is still being read, or cannot be."""
        return self.loading or (bool(self.broken) and group_id in self.broken)

    def is_loading_transaction(self, transactional_id: str) -> bool:
        """Whether the state of this transactional id is still being read, or cannot be."""
        return self.loading or (bool(self.broken_transactions) and transactional_id in self.broken_transactions)

    def find(self, group_id: str) -> tuple[ErrorCode, Group | None]:
        """Why no request about this group can be taken at all, or NONE and the group, if it is there."""
        if self.loading or (self.broken and group_id in self.broken):
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, None
        group = self.groups.get(group_id)
        if group is not None and group.deleting:  # as good as Dead: a group of this name will be another one
            return ErrorCode.COORDINATOR_NOT_AVAILABLE, None
        return TAKEN, group

    def unavailable(self, group_id: str) -> ErrorCode:
        """Why no request about this group can be taken at all, or NONE."""
        return self.find(group_id)[0]

    def classic(self, group_id: str) -> ClassicGroup | None:
        """The membership of a group that is there."""
        group = self.groups.get(group_id)
        return None if group is None else group.classic

    def create(self, group_id: str) -> Group:
        """A group that was not there. It is newer than the tombstone of one of its name."""
        group = self.groups[group_id] = new_group(group_id)
        group.epoch, group.version = self.out.settled_order
        self.out.announce(group_id, GroupCreated())
        return group

    def forget_timers(self, group: Group) -> None:
        """Nothing about this group is to happen any more."""
        group_id, classic = group.group_id, group.classic
        for member_id in classic.members:
            self.out.cancel_timer(timers.session(group_id, member_id))
            self.out.cancel_timer(timers.new_member(group_id, member_id))
        for member_id in classic.pending:
            self.out.cancel_timer(timers.pending_member(group_id, member_id))
        for make in (timers.initial_delay, timers.rebalance, timers.sync):
            self.out.cancel_timer(make(group_id))
        for member_id in group.modern.members if group.modern is not None else ():
            self.out.cancel_timer(timers.session(group_id, member_id))
            for of_member in (timers.revocation, timers.rejoin, timers.resync):
                self.out.cancel_timer(of_member(group_id, member_id))


class Follower(Protocol):
    """What a decision does when its record is durable (and applied), or cannot be."""

    def written(self, core: Core, now_ms: int) -> None: ...

    def failed(self, core: Core, now_ms: int) -> None: ...


class Answering(msgspec.Struct, frozen=True, kw_only=True):
    """Replies to a request: with `answer` when the record before it is durable, with `refusal` when it cannot be."""

    to: Any
    answer: Any
    refusal: Any

    def written(self, core: Core, now_ms: int) -> None:
        core.out.reply(self.to, self.answer)

    def failed(self, core: Core, now_ms: int) -> None:
        core.out.reply(self.to, self.refusal)
