"""Heartbeat and SyncGroup of members of the classic protocol in a consumer group.

Job: keep them at the group's epochs with the words that they have: 27 sends them to join again, Sync hands them what they hold.
Rules
- A member's generation is its epoch. It is to join again when the group epoch is higher, when it must give something up, and
  when what it waits for is free.
- Who is told so has its rebalance timeout to come, from the first time that it was told; who joined has as long to sync.
- A Sync is answered after the records that are on their way, as what it hands out is to be durable.
Must not know: how a member joins (`classic_join`), how its share is made.
Source: PROTOCOL 2.3, 2.4, 4.6, 7.3.10 and 7.3.14 in docs/PROTOCOL.md; Apache Kafka 4.2
`GroupMetadataManager.classicGroupHeartbeatToConsumerGroup` and `classicGroupSyncToConsumerGroup`.
"""

from __future__ import annotations

from kaas.coordinator import timers
from kaas.coordinator.answers import SyncAnswer
from kaas.coordinator.core import Core
from kaas.coordinator.events import Heartbeat, Sync
from kaas.coordinator.group import Group
from kaas.coordinator.modern import epochs
from kaas.coordinator.modern.change import answer_in_turn
from kaas.coordinator.modern.checks import check_known
from kaas.coordinator.modern.conversion import assignment_of
from kaas.coordinator.modern.group import Member, MemberState, ModernGroup, keys_of
from kaas.coordinator.modern.leave import drop_the_late
from kaas.coordinator.modern.sessions import heard
from kaas.errors import ErrorCode
from kaas.wire.consumer_protocol import PROTOCOL_TYPE

NOT_DURABLE = SyncAnswer(code=ErrorCode.COORDINATOR_NOT_AVAILABLE)


def heartbeat(core: Core, group: Group, event: Heartbeat, now_ms: int) -> None:
    """Handle a Heartbeat."""
    modern = group.modern
    assert modern is not None
    code = check_member(modern, event.member_id, event.instance_id, event.generation)
    if not code:
        member = modern.members[event.member_id]
        heard(core, modern, member, now_ms)
        if is_to_rejoin(modern, member):
            code = tell_to_rejoin(core, modern, member, now_ms)
    core.out.reply(event.reply_to, code)


def check_member(group: ModernGroup, member_id: str, instance_id: str | None, generation: int) -> ErrorCode:
    """Who speaks, and whether it knows its epoch. A member under KIP-848 does not speak so."""
    fault = check_known(group, member_id, instance_id)
    if fault is not None:
        return fault.code
    member = group.members[member_id]
    if member.classic is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if generation == member.epoch else ErrorCode.ILLEGAL_GENERATION


def is_to_rejoin(group: ModernGroup, member: Member) -> bool:
    """Whether a Join would bring the member further."""
    if member.epoch < group.epoch or member.state == MemberState.UNREVOKED:
        return True
    return member.state == MemberState.UNRELEASED and not waits(group, member)


def waits(group: ModernGroup, member: Member) -> bool:
    """Whether somebody else still holds something of the member's share."""
    wanted = keys_of(group.target.get(member.member_id, {})).keys() - keys_of(member.assigned).keys()
    return any(group.owners.get(key, member.member_id) != member.member_id for key in wanted)


def tell_to_rejoin(core: Core, group: ModernGroup, member: Member, now_ms: int) -> ErrorCode:
    """The answer, and from the first one on the time that the member has."""
    if member.member_id not in group.rejoin_by_ms:
        deadline_ms = group.rejoin_by_ms[member.member_id] = now_ms + member.rebalance_timeout_ms
        core.out.set_timer(timers.rejoin(group.group_id, member.member_id), deadline_ms)
    return ErrorCode.REBALANCE_IN_PROGRESS


def sync(core: Core, group: Group, event: Sync, now_ms: int) -> None:
    """Handle a SyncGroup."""
    modern = group.modern
    assert modern is not None
    code = check_sync(core, modern, event, now_ms)
    if code:
        core.out.reply(event.reply_to, SyncAnswer(code=code))
        return
    member = modern.members[event.member_id]
    assert member.classic is not None
    core.out.cancel_timer(timers.resync(group.group_id, member.member_id))
    heard(core, modern, member, now_ms)
    answer = SyncAnswer(
        code=ErrorCode.NONE,
        assignment=assignment_of(member.classic, member.assigned, core.topics),
        protocol_type=PROTOCOL_TYPE,
        protocol_name=protocol_of(member),
    )
    answer_in_turn(core, modern, event.reply_to, answer, NOT_DURABLE)


def check_sync(core: Core, group: ModernGroup, event: Sync, now_ms: int) -> ErrorCode:
    """Who asks, then for which protocol, then whether it is to join first. Who gives up has joined already, and so has who came
    while the target rests, which would join again and again for nothing."""
    if event.protocol_missing:  # v5 must name type and protocol (KIP-559)
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if code := check_member(group, event.member_id, event.instance_id, event.generation):
        return code
    member = group.members[event.member_id]
    if event.protocol_type not in (None, PROTOCOL_TYPE) or event.protocol_name not in (None, protocol_of(member)):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    is_behind = member.epoch < group.target_epoch or not epochs.is_resting(group, now_ms)
    if member.epoch < group.epoch and member.state != MemberState.UNREVOKED and is_behind:
        return tell_to_rejoin(core, group, member, now_ms)
    return ErrorCode.NONE


def protocol_of(member: Member) -> str:
    """The protocol that a classic member is told: it assigns nothing, so its own first choice will do."""
    assert member.classic is not None
    return member.classic.protocols[0][0]


def rejoin_expired(core: Core, group: Group, member: Member, now_ms: int) -> None:
    """A member was told to join again and did not."""
    if member.classic is not None:
        drop_the_late(core, group, member, "joining", "did not rejoin in time", now_ms)


def resync_expired(core: Core, group: Group, member: Member, now_ms: int) -> None:
    """A member joined and did not ask for what it is to read."""
    if member.classic is not None:
        drop_the_late(core, group, member, "syncing", "did not sync in time", now_ms)
