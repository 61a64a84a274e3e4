"""Questions that change nothing: describe, list, fetch offsets.

Rules: answers come from memory, whatever the groups are doing; a list never waits for a busy group (redpanda#1865). A group
that is being deleted is there until that is durable.
Source: PROTOCOL 2.8, 2.10 and 2.12 in docs/PROTOCOL.md.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from kaas.coordinator.classic.group import Member
from kaas.coordinator.classic.states import State
from kaas.coordinator.core import Core
from kaas.coordinator.group import Group
from kaas.coordinator.modern.commits import check_fetch
from kaas.coordinator.modern.epochs import chosen_assignor
from kaas.coordinator.modern.group import Member as ConsumerMember
from kaas.coordinator.offset_entry import OffsetEntry, OffsetKey
from kaas.coordinator.topics import Partitions
from kaas.errors import ErrorCode


class ListedGroup(msgspec.Struct, frozen=True, gc=False):
    """A row of ListGroups. `type` is `classic` or `consumer`."""

    group_id: str
    protocol_type: str
    state: str
    type: str


class DescribedMember(msgspec.Struct, frozen=True):
    """A member as DescribeGroups shows it."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class DescribedGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A row of DescribeGroups; a group that is not there is Dead and has code 69 (versions below 6 leave the code out)."""

    code: ErrorCode
    group_id: str
    state: str
    protocol_type: str = ""
    protocol_name: str = ""
    members: tuple[DescribedMember, ...] = ()


class DescribedConsumer(msgspec.Struct, frozen=True):
    """A member as ConsumerGroupDescribe shows it, and what it is to hold."""

    member: ConsumerMember
    target: Partitions


class DescribedConsumerGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A row of ConsumerGroupDescribe."""

    code: ErrorCode
    group_id: str
    state: str = ""
    epoch: int = 0
    target_epoch: int = 0
    assignor: str = ""
    members: tuple[DescribedConsumer, ...] = ()


class FetchedOffsets(msgspec.Struct, frozen=True, kw_only=True):
    """Offsets of one group by topic and partition; null where nothing is committed."""

    code: ErrorCode = ErrorCode.NONE
    offsets: dict[OffsetKey, OffsetEntry | None] = {}
    unstable: frozenset[OffsetKey] = frozenset()


def list_groups(core: Core, states: Iterable[str], types: Iterable[str]) -> tuple[ErrorCode, list[ListedGroup]]:
    """Every group that matches; filters ignore case, and a word that nobody knows matches nothing."""
    if core.loading:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, []
    wanted_states = {s.lower() for s in states}
    wanted_types = {t.lower() for t in types}
    rows = []
    for group in core.groups.values():
        row = listed(group)
        if (not wanted_states or row.state.lower() in wanted_states) and (not wanted_types or row.type in wanted_types):
            rows.append(row)
    return ErrorCode.NONE, rows


def listed(group: Group) -> ListedGroup:
    return ListedGroup(
        group.group_id, group.protocol_type, group.state, "classic" if group.modern is None else "consumer"
    )


def describe_group(core: Core, group_id: str) -> DescribedGroup:
    """Members show their metadata and the protocol in Stable only, and their last assignment always."""
    if core.is_loading(group_id):
        return DescribedGroup(code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, group_id=group_id, state="")
    group = core.groups.get(group_id)
    if group is None or group.modern is not None:
        return DescribedGroup(code=ErrorCode.GROUP_ID_NOT_FOUND, group_id=group_id, state=State.DEAD.value)
    classic = group.classic
    stable = classic.state is State.STABLE
    return DescribedGroup(
        code=ErrorCode.NONE,
        group_id=group_id,
        state=classic.state.value,
        protocol_type=classic.protocol_type,
        protocol_name=classic.protocol_name if stable else "",
        members=tuple(described(m, classic.protocol_name if stable else None) for m in classic.members.values()),
    )


def described(member: Member, protocol: str | None) -> DescribedMember:
    return DescribedMember(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        b"" if protocol is None else member.metadata_of(protocol),
        member.assignment,
    )


def describe_consumer_group(core: Core, group_id: str) -> DescribedConsumerGroup:
    """A consumer group with the assignor that most of its members prefer now, whatever made the target."""
    if not group_id:
        return DescribedConsumerGroup(code=ErrorCode.INVALID_GROUP_ID, group_id=group_id)
    if core.is_loading(group_id):
        return DescribedConsumerGroup(code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, group_id=group_id)
    group = core.groups.get(group_id)
    if group is None or group.modern is None:
        return DescribedConsumerGroup(code=ErrorCode.GROUP_ID_NOT_FOUND, group_id=group_id)
    modern = group.modern
    return DescribedConsumerGroup(
        code=ErrorCode.NONE,
        group_id=group_id,
        state=modern.state.value,
        epoch=modern.epoch,
        target_epoch=modern.target_epoch,
        assignor=chosen_assignor(core, modern),
        members=tuple(DescribedConsumer(m, modern.target.get(m.member_id, {})) for m in modern.members.values()),
    )


def fetch_offsets(
    core: Core,
    group_id: str,
    wanted: list[OffsetKey] | None,
    *,
    require_stable: bool,
    member_id: str | None = None,
    epoch: int = -1,
) -> FetchedOffsets:
    """The offsets asked for, or with null every committed one. An unknown group has none, and that is no error.

    A member of a consumer group may say who it is, and is refused then if it is not.
    With `require_stable` a partition that an open transaction has staged is unstable: the client asks again (KIP-447).
    """
    if core.is_loading(group_id):
        return FetchedOffsets(code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    group = core.groups.get(group_id)
    if group is None:
        return FetchedOffsets(offsets=dict.fromkeys(wanted or ()))
    if group.modern is not None and (code := check_fetch(group.modern, member_id, epoch)):
        return FetchedOffsets(code=code)
    keys = group.keys() if wanted is None else wanted
    unstable = frozenset(key for key in keys if key in group.holders) if require_stable else frozenset()
    return FetchedOffsets(offsets={key: group.offset(*key) for key in keys}, unstable=unstable)
