"""A classic group becomes a consumer group: the first member under KIP-848 comes.

Job: say whether that may be and what the group would be; make it so.
Rules
- An empty group changes whenever somebody comes, and its numbers begin anew; its offsets stay. A group with members changes
  if the settings let it, if it is one of consumers, and if nothing that its members hold or say would be lost.
- Nothing has changed until every check of the heartbeat that brings it about is passed.
- Classic members stay, at their generation as their epoch. Who of them waits for an answer is sent back (27), and the others
  hear it at their next heartbeat.
- The change is durable with the heartbeat's own record, which holds the whole group.
Must not know: what the heartbeat wants.
Source: KIP-848; PROTOCOL 2.11 row 9, 4.6, 7.3.4, 7.3.11 and 7.3.13 in docs/PROTOCOL.md.
"""

from __future__ import annotations

from kaas.coordinator.announcements import MembersChanged
from kaas.coordinator.classic.group import ClassicGroup
from kaas.coordinator.classic.members import send_away
from kaas.coordinator.classic.rebalance import finish
from kaas.coordinator.classic.states import State
from kaas.coordinator.core import Core
from kaas.coordinator.events import ConsumerHeartbeat
from kaas.coordinator.group import Group
from kaas.coordinator.modern.checks import Refusal, refusal
from kaas.coordinator.modern.conversion import consumer_group_of
from kaas.coordinator.modern.epochs import metadata_hash
from kaas.coordinator.modern.group import ModernGroup
from kaas.coordinator.modern.sessions import heard
from kaas.errors import ErrorCode
from kaas.wire.consumer_protocol import PROTOCOL_TYPE


def upgraded(core: Core, group: Group, event: ConsumerHeartbeat) -> ModernGroup | Refusal:
    """What a classic group would be as a consumer group, or why it cannot be one."""
    classic = group.classic
    if classic.state is State.EMPTY:
        return ModernGroup(group_id=group.group_id)
    reason = why_not(core, classic)
    if reason is None:
        try:
            modern = consumer_group_of(classic, core.topics)
        except ValueError as problem:
            reason = str(problem)
        else:
            modern.metadata_hash, modern.stale = metadata_hash(core.topics, modern.subscribed()), False
            return modern
    return refusal(
        ErrorCode.GROUP_ID_NOT_FOUND, f"{event.group_id!r} is a classic group and cannot be a consumer group: {reason}."
    )


def why_not(core: Core, group: ClassicGroup) -> str | None:
    """What forbids the change, whatever the members hold."""
    if not core.config.consumer_migration_policy.upgrades:
        return "the settings do not let it"
    if group.protocol_type != PROTOCOL_TYPE:
        return f"its protocol type is {group.protocol_type!r}"
    if len(group.members) > core.config.consumer_max_size:
        return "it has too many members"
    return None


def take_over(core: Core, group: Group, modern: ModernGroup, now_ms: int) -> None:
    """The group is a consumer group from here on; the generations that were reserved stay so."""
    classic = group.classic
    send_away(core, classic, ErrorCode.REBALANCE_IN_PROGRESS)
    core.forget_timers(group)
    if classic.rebalance is not None:
        finish(core, classic, "superseded", now_ms)
    group.classic = ClassicGroup(group_id=group.group_id, reserved=group.reserved)
    group.modern = modern
    modern.state_since_ms = classic.state_since_ms
    modern.settled = {member.member_id: member.assigned for member in modern.members.values()}
    modern.settled_epoch = modern.target_epoch
    for member in modern.members.values():
        heard(core, modern, member, now_ms)
    core.out.announce(group.group_id, MembersChanged(member_ids=None))
