"""ConsumerGroupHeartbeat: a member says what it wants and what it holds, and is told what it may hold.

Job: after the checks, one of: a member comes, comes back under a new id, or goes on; then the epochs, the target and the
member's next step follow from each other, and the answer from these.
Rules
- A heartbeat that says nothing new of a group in which nothing is new costs a few look-ups: no record, no walk over members.
- The assignment is told to a member that says everything anew (it joins, or its last answer may have been lost) and to one
  whose assignment is another than before; else it is null.
Must not know: versions, how topics are named on the wire.
Source: KIP-848; PROTOCOL 2.11, 4 and 7.3 in docs/PROTOCOL.md.
"""

from __future__ import annotations

import msgspec

from kaas.coordinator.announcements import Cause, MembersChanged, SubscriptionChanged
from kaas.coordinator.answers import ConsumerHeartbeatAnswer
from kaas.coordinator.core import Core
from kaas.coordinator.events import ConsumerHeartbeat
from kaas.coordinator.group import Group
from kaas.coordinator.modern import leave, patterns, upgrade
from kaas.coordinator.modern.change import Change, answer_in_turn
from kaas.coordinator.modern.checks import (
    NOT_DURABLE,
    Refusal,
    check_epoch,
    check_form,
    check_joining,
    check_known,
    check_room,
    refusal,
)
from kaas.coordinator.modern.epochs import grow, look_at_topics, retarget, topic_ids
from kaas.coordinator.modern.group import Member, MemberState, ModernGroup
from kaas.coordinator.modern.reconcile import reconcile
from kaas.coordinator.modern.sessions import heard
from kaas.errors import ErrorCode


def heartbeat(core: Core, event: ConsumerHeartbeat, now_ms: int) -> None:
    """Handle a ConsumerGroupHeartbeat."""
    if event.epoch > 0 and is_answered_at_once(core, event, now_ms):
        return
    code, group = core.find(event.group_id)
    fault = check_form(core, event) or check_group(code, group, event)
    if fault is not None:
        core.out.reply(event.reply_to, fault)
        return
    if event.epoch == 0:
        join(core, group, event, now_ms)
    elif event.epoch < 0:
        assert group is not None
        leave.leave(core, group, event, now_ms)
    else:
        assert group is not None and group.modern is not None
        go_on(core, group, group.modern, event, now_ms)


def is_answered_at_once(core: Core, event: ConsumerHeartbeat, now_ms: int) -> bool:
    """Whether the heartbeat only says that a member lives for whom nothing is to be done, as nearly all do; it is answered
    then. It would pass every check: whatever is not so takes the long way, which is always right."""
    code, group = core.find(event.group_id)
    if code or group is None or group.modern is None:
        return False
    modern = group.modern
    member = modern.members.get(event.member_id)
    if (
        member is None
        or member.epoch != event.epoch
        or not is_steady(modern, member)
        or not says_nothing(member, event)
    ):
        return False
    heard(core, modern, member, now_ms)
    if modern.patterns:
        patterns.after_heartbeat(core, modern, event.may_describe, now_ms)
    answer_in_turn(core, modern, event.reply_to, answer_of(core, modern, member), NOT_DURABLE)
    return True


def check_group(code: ErrorCode, group: Group | None, event: ConsumerHeartbeat) -> Refusal | None:
    """Whether the group can be asked (`code`: why not), and is one of consumers if it has to be."""
    if code:
        return refusal(code, "The group cannot be asked at the moment.")
    if event.epoch != 0 and (group is None or group.modern is None):
        return refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {event.group_id!r} not found.")
    return None


# A first heartbeat


def join(core: Core, group: Group | None, event: ConsumerHeartbeat, now_ms: int) -> None:
    """A member comes, or comes back. A group that is not one of consumers becomes one, if nothing is wrong."""
    modern = membership(core, group, event)
    fault = modern if isinstance(modern, Refusal) else check_join(core, modern, event)
    if isinstance(modern, Refusal) or fault is not None:
        core.out.reply(event.reply_to, fault)
        return
    is_new = group is None or group.modern is None
    if group is None:
        group = core.create(event.group_id)
        group.modern = modern
    elif group.modern is None:
        upgrade.take_over(core, group, modern, now_ms)
    admit(Change(core, group, now_ms, whole=is_new), event)


def membership(core: Core, group: Group | None, event: ConsumerHeartbeat) -> ModernGroup | Refusal:
    """The one that the member would join, which may be yet to come into force, or why there is none for it."""
    if group is None:
        return ModernGroup(group_id=event.group_id)
    return upgrade.upgraded(core, group, event) if group.modern is None else group.modern


def check_join(core: Core, group: ModernGroup, event: ConsumerHeartbeat) -> Refusal | None:
    """Whether the member can be let in."""
    return check_room(core, group, event) or check_joining(group, event) or check_pattern(group, event)


def admit(change: Change, event: ConsumerHeartbeat) -> None:
    """The member is in the group from now on, if it was not yet."""
    group = change.group
    member = group.members.get(event.member_id)
    holder = group.holder(event.instance_id)
    if member is None and holder is not None:
        come_back(change, holder, event)
    elif member is None:
        newcomer(change, event)
    else:
        progress(change, member, event)


def newcomer(change: Change, event: ConsumerHeartbeat) -> None:
    """Somebody who was not in the group before. One who subscribes to nothing that is known takes nothing from anybody, so
    there is no new epoch for it."""
    member = Member(
        member_id=event.member_id or event.fresh_id,
        client_id=event.client_id,
        client_host=event.client_host,
        rebalance_timeout_ms=event.rebalance_timeout_ms,
        joined_at=change.core.wall_ms(change.now_ms),
    )
    member = told(member, event)
    change.put(member)
    change.announce("member_joined", member)
    if change.group.epoch == 0 or member.topics or member.regex in change.group.regexes:
        detail = {"client_id": member.client_id, "instance_id": member.instance_id}
        grow(change, Cause(kind="member_joined", member_id=member.member_id, detail=detail))
    else:
        look_at_topics(change)
    finish(change, member, member, event)


def come_back(change: Change, holder: Member, event: ConsumerHeartbeat) -> None:
    """A static member in its next life: the new id has the place and the share of the old one, and nobody else notices."""
    successor = msgspec.structs.replace(
        holder, member_id=event.member_id or event.fresh_id, epoch=0, previous_epoch=0, classic=None
    )
    change.replace(holder.member_id, successor)
    change.announce("member_replaced", holder, replaced_by=successor.member_id)
    progress(change, successor, event)


# Every heartbeat


def go_on(core: Core, group: Group, modern: ModernGroup, event: ConsumerHeartbeat, now_ms: int) -> None:
    """A member that is in the group."""
    fault = (
        check_room(core, modern, event)
        or check_known(modern, event.member_id, event.instance_id)
        or check_epoch(modern.members[event.member_id], event.epoch, event.owned)
        or check_pattern(modern, event)
    )
    if fault is not None:
        core.out.reply(event.reply_to, fault)
        return
    progress(Change(core, group, now_ms), modern.members[event.member_id], event)


def is_steady(group: ModernGroup, member: Member) -> bool:
    """Whether nothing is to be done for a member that says nothing new."""
    return member.state == MemberState.STABLE and member.epoch == group.target_epoch == group.epoch and not group.stale


def progress(change: Change, member: Member, event: ConsumerHeartbeat) -> None:
    """A member that is there says something new, or something is new for it."""
    after = told(member, event)
    if after is not member:
        change.put(after)
        change.core.out.announce(change.group.group_id, MembersChanged(member_ids=(after.member_id,)))
        note_subscription(change, member, after)
    look_at_topics(change)
    finish(change, member, after, event)


def note_subscription(change: Change, before: Member, after: Member) -> None:
    """Other names make a new epoch, and so does a pattern whose topics are known; one that is yet to be matched will."""
    names_changed, regex_changed = before.topics != after.topics, before.regex != after.regex
    if names_changed:
        topics = after.topics
        change.core.out.announce(change.group.group_id, SubscriptionChanged(member_id=after.member_id, topics=topics))
    if names_changed or (regex_changed and (not after.regex or after.regex in change.group.regexes)):
        detail = {
            "client_id": after.client_id,
            "instance_id": after.instance_id,
            "before": list(before.topics),
            "after": list(after.topics),
            "regex": after.regex,
        }
        grow(change, Cause(kind="subscription_changed", member_id=after.member_id, detail=detail))


def finish(change: Change, before: Member, member: Member, event: ConsumerHeartbeat) -> None:
    """The target, the member's next step towards it, and the answer. `before`: what the member was when it spoke."""
    core, group = change.core, change.group
    retarget(change)
    if member.member_id not in group.target:
        change.give_nothing(member.member_id)
    after = reconcile(group, member, topic_ids(group, member, core.topics), event.owned)
    if after is not member and after != member:
        change.put(after)
    heard(core, group, after, change.now_ms)
    patterns.after_heartbeat(core, group, event.may_describe, change.now_ms)
    answer = answer_of(core, group, after)
    if is_full(event) or after.assigned != before.assigned:
        answer = msgspec.structs.replace(answer, assignment=after.assigned)
    change.close(event.reply_to, answer, NOT_DURABLE)


def is_full(event: ConsumerHeartbeat) -> bool:
    """Whether the member says all that there is to say: it joins, or does not know what its last answer was."""
    if event.epoch == 0:
        return True
    wants = event.topics is not None or event.regex is not None
    return event.rebalance_timeout_ms != -1 and wants and event.owned is not None


def answer_of(core: Core, group: ModernGroup, member: Member) -> ConsumerHeartbeatAnswer:
    """What a member is told that knows its assignment."""
    return ConsumerHeartbeatAnswer(
        code=ErrorCode.NONE,
        member_id=member.member_id,
        epoch=member.epoch,
        interval_ms=core.consumer_heartbeat_interval_ms(group.group_id),
    )


def check_pattern(group: ModernGroup, event: ConsumerHeartbeat) -> Refusal | None:
    """Whether a pattern that nobody had yet can be matched."""
    if not event.regex or event.regex in group.patterns:
        return None
    problem = patterns.problem(event.regex)
    return None if problem is None else refusal(ErrorCode.INVALID_REGULAR_EXPRESSION, problem)


def says_nothing(member: Member, event: ConsumerHeartbeat) -> bool:
    """Whether the heartbeat of a member that has its share only says that it lives."""
    return (
        event.topics is None
        and event.regex is None
        and event.rebalance_timeout_ms == -1
        and event.assignor is None
        and event.rack_id is None
        and (event.instance_id is None or event.instance_id == member.instance_id)
        and event.client_id == member.client_id
        and event.client_host == member.client_host
        and member.classic is None
    )


def told(member: Member, event: ConsumerHeartbeat) -> Member:
    """The member with what the heartbeat says of it; itself, if that is nothing new."""
    timeout_ms = member.rebalance_timeout_ms if event.rebalance_timeout_ms == -1 else event.rebalance_timeout_ms
    said = {
        "instance_id": event.instance_id if event.instance_id is not None else member.instance_id,
        "rack_id": event.rack_id if event.rack_id is not None else member.rack_id,
        "client_id": event.client_id,
        "client_host": event.client_host,
        "rebalance_timeout_ms": timeout_ms,
        "topics": member.topics if event.topics is None else tuple(sorted({*event.topics})),
        "regex": member.regex if event.regex is None else event.regex,
        "assignor": member.assignor if event.assignor is None else event.assignor,
        "classic": None,
    }
    if all(getattr(member, name) == value for name, value in said.items()):
        return member
    return msgspec.structs.replace(member, **said)
