"""JoinGroup of a member of the classic protocol to a consumer group.

Job: the checks in their order, then the member's step: it comes, comes back under a new id, or goes on; and its answer.
Rules
- There is no join phase and no leader: a Join is a heartbeat in other words. The generation is the member's epoch, and the
  protocol is the first of its own; nobody is told who else is there.
- What a member says that it owns is what it still holds; its rebalance timeout runs from here until it syncs.
- A newcomer without an id is told one and nothing is kept of that; any id that it comes with then is good.
- A static member that comes back has the place of the old holder of its instance, whichever protocol that one spoke. When that
  was the last one under KIP-848 the group is classic again.
- A group that nobody is in is a classic group for who comes.
Must not know: versions other than by the flags in the event.
Source: PROTOCOL 2.2b, 4.6, 7.3.10, 7.3.12 and 7.3.13 in docs/PROTOCOL.md; Apache Kafka 4.2
`GroupMetadataManager.classicGroupJoinToConsumerGroup`; KAFKA-17317, KAFKA-19546, KAFKA-19720 (no pattern).
"""

from __future__ import annotations

import msgspec

from kaas.coordinator import timers
from kaas.coordinator.announcements import Cause
from kaas.coordinator.answers import JoinAnswer
from kaas.coordinator.classic import join as to_classic
from kaas.coordinator.classic import rebalance as classic_rebalance
from kaas.coordinator.classic.join import check_request, park, refuse
from kaas.coordinator.core import Answering, Core
from kaas.coordinator.events import Join
from kaas.coordinator.group import Group
from kaas.coordinator.modern import downgrade
from kaas.coordinator.modern.change import Change
from kaas.coordinator.modern.checks import check_known
from kaas.coordinator.modern.classic_members import protocol_of
from kaas.coordinator.modern.conversion import partitions_of, topics_of
from kaas.coordinator.modern.epochs import grow, look_at_topics, retarget, topic_ids
from kaas.coordinator.modern.group import ClassicPart, Member, ModernGroup
from kaas.coordinator.modern.heartbeat import note_subscription
from kaas.coordinator.modern.reconcile import reconcile
from kaas.coordinator.modern.sessions import heard
from kaas.errors import ErrorCode
from kaas.wire.consumer_protocol import PROTOCOL_TYPE, Subscription, decode_subscription


def join(core: Core, group: Group, event: Join, now_ms: int) -> None:
    """Handle a JoinGroup."""
    modern = group.modern
    assert modern is not None
    if not modern.members:
        join_empty(core, group, event, now_ms)
        return
    if code := check_request(core, event):
        refuse(core, event, code)
        return
    if code := check_group(core, modern, event):
        turn_away(core, event, code)
        return
    if event.requires_known_id and not event.member_id and event.instance_id is None:
        member_id = f"{event.client_id}-{event.fresh_id}"
        core.out.reply(event.reply_to, JoinAnswer(code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id))
        return
    if code := check_holder(modern, event):
        turn_away(core, event, code)
        return
    try:
        subscription = decode_subscription(event.protocols[0][1])
    except ValueError:
        turn_away(core, event, ErrorCode.UNKNOWN_SERVER_ERROR)
        return
    admit(core, group, event, subscription, now_ms)


def turn_away(core: Core, event: Join, code: ErrorCode) -> None:
    """What a consumer group refuses names nobody, whatever id was sent."""
    core.out.reply(event.reply_to, JoinAnswer(code=code, member_id=""))


def join_empty(core: Core, group: Group, event: Join, now_ms: int) -> None:
    """Nobody is in the group, so nobody's id is known in it."""
    if code := check_request(core, event):
        refuse(core, event, code)
    elif event.member_id:
        refuse(core, event, ErrorCode.UNKNOWN_MEMBER_ID)
    else:
        downgrade.empty_group(core, group, now_ms)
        to_classic.join(core, event, now_ms)


def check_group(core: Core, group: ModernGroup, event: Join) -> ErrorCode:
    """Room first, then a protocol that all classic members have."""
    is_known = event.member_id in group.members or group.holder(event.instance_id) is not None
    if not is_known and len(group.members) >= core.config.consumer_max_size:
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    names = [name for name, _ in event.protocols]
    if event.protocol_type != PROTOCOL_TYPE or not group.supports_one_of(names):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.NONE


def check_holder(group: ModernGroup, event: Join) -> ErrorCode:
    """An id beside an instance id must be that of its holder; without one the instance is taken over."""
    if event.instance_id is None or not event.member_id:
        return ErrorCode.NONE
    fault = check_known(group, event.member_id, event.instance_id)
    return ErrorCode.NONE if fault is None else fault.code


def admit(core: Core, group: Group, event: Join, subscription: Subscription, now_ms: int) -> None:
    """The member is in the group from now on, if it was not yet."""
    change = Change(core, group, now_ms)
    before = change.group.holder(event.instance_id) or change.group.members.get(event.member_id)
    if before is None:
        member = newcomer(change, event, subscription)
    else:
        member = said(before, event, subscription)
        if not event.member_id:
            member = take_place(change, before, member, event)
        else:
            change.put(member)
        if before.classic is None and downgrade.is_due(core, change.group):
            come_back_alone(change, group, before, member, event)
            return
        note_subscription(change, before, member)
        look_at_topics(change)
    finish(change, member, subscription, event)


def said(member: Member, event: Join, subscription: Subscription) -> Member:
    """The member with what the Join says of it."""
    return msgspec.structs.replace(
        member,
        instance_id=member.instance_id if event.instance_id is None else event.instance_id,
        rack_id=subscription.rack_id,
        client_id=event.client_id,
        client_host=event.client_host,
        rebalance_timeout_ms=event.rebalance_timeout_ms,
        topics=topics_of(subscription),
        regex="",
        assignor=None,
        classic=ClassicPart(event.session_timeout_ms, event.protocols),
    )


def newcomer(change: Change, event: Join, subscription: Subscription) -> Member:
    """Somebody who was not in the group before. There is no new epoch for one who subscribes to nothing."""
    name = event.client_id if event.instance_id is None else event.instance_id
    member = Member(
        member_id=event.member_id or f"{name}-{event.fresh_id}",
        client_id=event.client_id,
        client_host=event.client_host,
        rebalance_timeout_ms=event.rebalance_timeout_ms,
        joined_at=change.core.wall_ms(change.now_ms),
    )
    member = said(member, event, subscription)
    change.put(member)
    change.announce("member_joined", member, reason=event.reason)
    if member.topics:
        detail = {"client_id": member.client_id, "instance_id": member.instance_id, "reason": event.reason}
        grow(change, Cause(kind="member_joined", member_id=member.member_id, detail=detail))
    else:
        look_at_topics(change)
    return member


def take_place(change: Change, holder: Member, member: Member, event: Join) -> Member:
    """A static member in its next life has the share of the old one, which must stop."""
    successor = msgspec.structs.replace(
        member, member_id=f"{event.instance_id}-{event.fresh_id}", epoch=0, previous_epoch=0
    )
    change.replace(holder.member_id, successor)
    change.announce("member_fenced", holder)
    change.announce("member_replaced", holder, replaced_by=successor.member_id, reason=event.reason)
    return successor


def finish(change: Change, member: Member, subscription: Subscription, event: Join) -> None:
    """The target, the member's next step towards it, and the answer."""
    core, group = change.core, change.group
    retarget(change)
    if member.member_id not in group.target:
        change.give_nothing(member.member_id)
    owned = partitions_of(subscription.owned, core.topics)
    after = reconcile(group, member, topic_ids(group, member, core.topics), owned)
    if after != member:
        change.put(after)
    group.rejoin_by_ms.pop(after.member_id, None)
    core.out.cancel_timer(timers.rejoin(group.group_id, after.member_id))
    core.out.set_timer(timers.resync(group.group_id, after.member_id), change.now_ms + after.rebalance_timeout_ms)
    heard(core, group, after, change.now_ms)
    refusal = JoinAnswer(code=ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id=event.member_id)
    change.close(event.reply_to, answer(after.member_id, after.epoch, protocol_of(after)), refusal)


def answer(member_id: str, epoch: int, protocol: str) -> JoinAnswer:
    return JoinAnswer(
        code=ErrorCode.NONE,
        member_id=member_id,
        generation=epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=protocol,
    )


def come_back_alone(change: Change, group: Group, before: Member, member: Member, event: Join) -> None:
    """The last member under KIP-848 speaks the classic protocol now, and so do all. The group is Stable as it is if everybody
    has its share of a target that is up to date; else the Join is the first of a rebalance."""
    core, modern = change.core, change.group
    same_topics = modern.topics_of(before) == member.topics
    downgrade.convert(core, group, change.now_ms)
    classic = group.classic
    if same_topics and is_shared_out(modern):
        told = answer(member.member_id, classic.generation, classic.protocol_name)
        refused = JoinAnswer(code=ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id=event.member_id)
        answering = Answering(to=event.reply_to, answer=told, refusal=refused)
        downgrade.save(core, group, answering, change.now_ms, is_shared_out=True)
        return
    downgrade.save(core, group, None, change.now_ms, is_shared_out=False)
    park(core, classic, classic.members[member.member_id], event.reply_to)
    detail = {"client_id": member.client_id, "instance_id": member.instance_id, "reason": event.reason}
    cause = Cause(kind="static_member_replaced", member_id=member.member_id, detail=detail)
    classic_rebalance.prepare_or_complete(core, classic, [cause], change.now_ms)


def is_shared_out(group: ModernGroup) -> bool:
    """Whether everybody holds its share of a target that is up to date, at whatever epoch, and nothing else."""
    if group.target_epoch < group.epoch or group.stale:
        return False
    members = group.members.values()
    return all(m.assigned == group.target.get(m.member_id, {}) and not m.revoking for m in members)
