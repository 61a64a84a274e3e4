"""What happened to a group, for people: the feed turns these into its events.

Rules: an announcement says what the coordinator knows and nothing that it would have to work out; decoding assignments and
wording sentences is for those who read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from kaas.coordinator.topics import Partitions


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """Why a rebalance began. `kind` is one of kaas.feed.types.CAUSES; `detail` has what a sentence about it needs."""

    kind: str
    member_id: str | None = None
    detail: dict[str, Any] = {}


class MemberChange(msgspec.Struct, frozen=True, kw_only=True):
    """`kind`: member_joined, member_left, member_expired, member_fenced, member_replaced."""

    kind: str
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    reason: str | None = None
    silent_ms: int | None = None
    timeout_ms: int | None = None
    replaced_by: str | None = None


class Person(Protocol):
    """A member, of whichever protocol."""

    @property
    def member_id(self) -> str: ...

    @property
    def instance_id(self) -> str | None: ...

    @property
    def client_id(self) -> str: ...

    @property
    def client_host(self) -> str: ...


def member_change(kind: str, member: Person, **more: str | int | None) -> MemberChange:
    """An announcement about one member."""
    change = MemberChange(
        kind=kind,
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
    )
    return msgspec.structs.replace(change, **more) if more else change


class StateChanged(msgspec.Struct, frozen=True, kw_only=True):
    """The words of Kafka."""

    before: str
    after: str


class RebalanceStarted(msgspec.Struct, frozen=True, kw_only=True):
    """Members are asked to come back."""

    cause: Cause


class RebalanceCompleted(msgspec.Struct, frozen=True, kw_only=True):
    """`phases` are (name, duration in ms); `before` and `after` are what each member had: the bytes of its assignment, in a
    consumer group its partitions. The generation is the group epoch there. `kind`: classic or consumer."""

    started_at: int
    ended_at: int
    phases: tuple[tuple[str, int], ...]
    cause: Cause
    also: tuple[Cause, ...]
    outcome: str
    generation_before: int
    generation_after: int
    before: Mapping[str, bytes | Partitions]
    after: Mapping[str, bytes | Partitions]
    members_before: int
    members_after: int
    protocol_type: str
    kind: str = "classic"


class MembersChanged(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing to tell people, but what is shown of these members is out of date (a parked join, a new assignment)."""

    member_ids: tuple[str, ...] | None


class MemberProgressed(msgspec.Struct, frozen=True, kw_only=True):
    """A member of a consumer group went on towards its target. `let_go`: it holds nothing that it is to give up; `is_done`: it
    holds all that it is to have."""

    member_id: str
    let_go: bool
    is_done: bool


class OffsetsChanged(msgspec.Struct, frozen=True, kw_only=True):
    """`kind`: offsets_committed, offsets_reset, offsets_deleted. `rows` begin with topic and partition; what else stands in
    them is of the past by the time that anybody reads this."""

    kind: str
    rows: Sequence[tuple[Any, ...]]
    why: str | None = None

    @property
    def partitions(self) -> list[tuple[str, int]]:
        return [(row[0], row[1]) for row in self.rows]


class SubscriptionChanged(msgspec.Struct, frozen=True, kw_only=True):
    """A member named other topics than before."""

    member_id: str
    topics: tuple[str, ...]


class PartitionsChanged(msgspec.Struct, frozen=True, kw_only=True):
    """A topic that the group subscribes to grew."""

    topic: str


class GroupCreated(msgspec.Struct, frozen=True, kw_only=True):
    """The group was not there before."""


class GroupGone(msgspec.Struct, frozen=True, kw_only=True):
    """`kind`: group_deleted, group_expired, coordinator_lost."""

    kind: str
    assignment_version: int | None = None


Announcement = (
    MemberChange
    | StateChanged
    | RebalanceStarted
    | RebalanceCompleted
    | MembersChanged
    | MemberProgressed
    | OffsetsChanged
    | SubscriptionChanged
    | PartitionsChanged
    | GroupCreated
    | GroupGone
)
