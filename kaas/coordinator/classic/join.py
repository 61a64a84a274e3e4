"""JoinGroup: a member comes, or comes back.

Job: the checks in their order, then one of: tell a newcomer its id, add it, answer a known member at once, or park it.
Rules: the order of checks is Kafka's and each has its reason beside it. A Join is parked once per member; an older one of the
same member is sent back. Refusals echo the member id that was sent, except where the table says otherwise.
Must not know: versions other than by the two flags in the event.
Source: PROTOCOL 2.2 in docs/PROTOCOL.md; KIP-394, KIP-345, KIP-800, KIP-814.
"""

from __future__ import annotations

from typing import Any

from kaas.coordinator import timers
from kaas.coordinator.announcements import Cause, MembersChanged, SubscriptionChanged, member_change
from kaas.coordinator.answers import JoinAnswer
from kaas.coordinator.classic import static
from kaas.coordinator.classic.checks import check_member
from kaas.coordinator.classic.group import ClassicGroup, Member
from kaas.coordinator.classic.members import remove_member, stop_session
from kaas.coordinator.classic.rebalance import complete_if_all_are_back, join_answer, prepare_or_complete
from kaas.coordinator.classic.states import State
from kaas.coordinator.core import Core
from kaas.coordinator.events import Join
from kaas.errors import ErrorCode
from kaas.wire.consumer_protocol import decode_subscription


def join(core: Core, event: Join, now_ms: int) -> None:
    """Handle a JoinGroup."""
    code = check_request(core, event)
    if code:
        refuse(core, event, code)
        return
    group = core.groups.get(event.group_id)
    if group is None:
        group = core.create(event.group_id)
    code = check_group(core, group.classic, event)
    if code:
        refuse(core, event, code)
        return
    classic = group.classic
    if event.member_id:
        known_or_pending(core, classic, event, now_ms)
    elif event.instance_id is not None:
        if event.instance_id in classic.instances:
            static.replace(core, classic, event, now_ms)
        else:
            add(core, classic, event, f"{event.instance_id}-{event.fresh_id}", now_ms)
    elif event.requires_known_id:
        tell_id(core, classic, event, now_ms)
    else:
        add(core, classic, event, f"{event.client_id}-{event.fresh_id}", now_ms)


def refuse(core: Core, event: Join, code: ErrorCode) -> None:
    """A full group names no member: the id that was sent is of no use any more."""
    member_id = "" if code == ErrorCode.GROUP_MAX_SIZE_REACHED else event.member_id
    core.out.reply(event.reply_to, JoinAnswer(code=code, member_id=member_id))


def check_request(core: Core, event: Join) -> ErrorCode:
    """What can be said before a group is looked at or made."""
    if not event.group_id:  # nobody can join "", though it may hold offsets (KAFKA-6773)
        return ErrorCode.INVALID_GROUP_ID
    if not core.config.min_session_timeout_ms <= event.session_timeout_ms <= core.config.max_session_timeout_ms:
        return ErrorCode.INVALID_SESSION_TIMEOUT
    if (code := core.unavailable(event.group_id)) is not ErrorCode.NONE:
        return code
    if event.member_id and event.group_id not in core.groups:  # an id given by a group that is gone: come as a newcomer
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE


def check_group(core: Core, group: ClassicGroup, event: Join) -> ErrorCode:
    """Room first, as a refusal must not depend on what a newcomer offers; then a protocol in common."""
    if is_full_for(core, group, event):
        return ErrorCode.GROUP_MAX_SIZE_REACHED
    if not group.accepts(event.protocol_type, event.protocols):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.NONE


def is_full_for(core: Core, group: ClassicGroup, event: Join) -> bool:
    """While members come back, places go to those who are here first; otherwise a member has its place.

    A static member that restarts has its place as well, under whatever id (Apache refuses it; see docs/decisions).
    """
    known = group.members.get(event.member_id) or group.holder(event.instance_id)
    if group.state is State.EMPTY:
        return False
    if group.state is State.PREPARING_REBALANCE:
        waits = known is not None and known.parked_join is not None
        return not waits and group.waiting_count >= core.config.max_size
    return known is None and len(group.members) >= core.config.max_size


def tell_id(core: Core, group: ClassicGroup, event: Join, now_ms: int) -> None:
    """A newcomer gets an id and no membership: a client that times out and tries again leaves no ghost behind (KIP-394)."""
    member_id = f"{event.client_id}-{event.fresh_id}"
    deadline_ms = now_ms + event.session_timeout_ms
    group.pending[member_id] = deadline_ms
    core.out.set_timer(timers.pending_member(event.group_id, member_id), deadline_ms)
    core.out.announce(event.group_id, MembersChanged(member_ids=()))
    core.out.reply(event.reply_to, JoinAnswer(code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id))


def known_or_pending(core: Core, group: ClassicGroup, event: Join, now_ms: int) -> None:
    """A member id was sent: it was told a moment ago, or it is a member's, or it is nobody's."""
    if event.member_id in group.pending:
        if event.instance_id is not None:  # the id was told to a dynamic member
            refuse(core, event, ErrorCode.UNKNOWN_MEMBER_ID)
            return
        del group.pending[event.member_id]
        core.out.cancel_timer(timers.pending_member(event.group_id, event.member_id))
        add(core, group, event, event.member_id, now_ms)
        return
    code = check_member(group, event.member_id, event.instance_id)
    if code:
        refuse(core, event, code)
        return
    rejoin(core, group, group.members[event.member_id], event, now_ms)


def add(core: Core, group: ClassicGroup, event: Join, member_id: str, now_ms: int) -> None:
    """A new member: its Join is parked and the others are asked to come back."""
    if not group.members:
        group.protocol_type = event.protocol_type
    member = Member(
        member_id=member_id,
        instance_id=event.instance_id,
        client_id=event.client_id,
        client_host=event.client_host,
        session_timeout_ms=event.session_timeout_ms,
        rebalance_timeout_ms=event.rebalance_timeout_ms,
        protocols=event.protocols,
        is_new=True,
        heard_ms=now_ms,
        joined_at=core.wall_ms(now_ms),
    )
    group.add(member)
    group.park_join(member, event.reply_to)
    if group.rebalance is not None and group.rebalance.initial:
        group.rebalance.grew = True
    core.out.announce(group.group_id, member_change("member_joined", member, reason=event.reason))
    core.out.set_timer(timers.new_member(group.group_id, member_id), now_ms + core.config.new_member_join_timeout_ms)
    detail = {"client_id": member.client_id, "instance_id": member.instance_id, "reason": event.reason}
    prepare_or_complete(core, group, [Cause(kind="member_joined", member_id=member_id, detail=detail)], now_ms)


def rejoin(core: Core, group: ClassicGroup, member: Member, event: Join, now_ms: int) -> None:
    """A known member. Asking again for what is known is answered at once; whatever else starts or joins a rebalance.

    The leader's Join in Stable always starts one: it is how a leader says that topics have changed (KIP-814 aside).
    """
    unchanged = member.protocols == event.protocols
    if unchanged and group.state is State.COMPLETING_REBALANCE:
        core.out.reply(event.reply_to, join_answer(group, member))
        return
    if unchanged and group.state is State.STABLE and member.member_id != group.leader:
        core.out.reply(event.reply_to, join_answer(group, member))
        return
    cause = rejoin_cause(group, member, event, unchanged)
    if not unchanged:
        announce_subscription(core, group, member, event)
    update(core, group, member, event)
    park(core, group, member, event.reply_to)
    if group.state is State.PREPARING_REBALANCE:
        complete_if_all_are_back(core, group, now_ms)
    else:
        prepare_or_complete(core, group, [cause], now_ms)


def update(core: Core, group: ClassicGroup, member: Member, event: Join) -> None:
    """What a member says of itself now counts."""
    group.set_protocols(member, event.protocols)
    member.session_timeout_ms = event.session_timeout_ms
    member.rebalance_timeout_ms = event.rebalance_timeout_ms
    member.client_id = event.client_id
    member.client_host = event.client_host


def park(core: Core, group: ClassicGroup, member: Member, token: Any) -> None:
    """Keep the Join waiting. Its session does not run meanwhile; an older Join of the same member is sent back."""
    older = group.park_join(member, token)
    if older is not None:
        core.out.reply(older, JoinAnswer(code=ErrorCode.REBALANCE_IN_PROGRESS, member_id=member.member_id))
    stop_session(core, group, member)
    core.out.announce(group.group_id, MembersChanged(member_ids=(member.member_id,)))


def rejoin_cause(group: ClassicGroup, member: Member, event: Join, unchanged: bool) -> Cause:
    """Why a known member's Join starts a rebalance."""
    detail: dict[str, Any] = {"client_id": member.client_id, "reason": event.reason}
    if not unchanged:
        before, after = topics_of(member.protocols), topics_of(event.protocols)
        if before != after:
            detail |= {"before": before, "after": after}
            return Cause(kind="subscription_changed", member_id=member.member_id, detail=detail)
        detail["follow_up"] = True
    kind = "leader_rejoined" if member.member_id == group.leader else "subscription_changed"
    return Cause(kind=kind, member_id=member.member_id, detail=detail)


def topics_of(protocols: tuple[tuple[str, bytes], ...]) -> list[str] | None:
    """The topics in a member's first metadata, sorted; null when it cannot be read."""
    try:
        return sorted(decode_subscription(protocols[0][1]).topics)
    except (ValueError, IndexError):
        return None


def announce_subscription(core: Core, group: ClassicGroup, member: Member, event: Join) -> None:
    """Tell the feed when the topics differ; owned partitions and the like differ at each cooperative step."""
    after = topics_of(event.protocols)
    if after is not None and after != topics_of(member.protocols):
        core.out.announce(group.group_id, SubscriptionChanged(member_id=member.member_id, topics=tuple(after)))


def new_member_expired(core: Core, group: ClassicGroup, member: Member, now_ms: int) -> None:
    """A newcomer whose Join is parked for five minutes is taken for gone; rebalances would fill with ghosts (KAFKA-7610)."""
    if member.is_new and member.parked_join is not None:
        timeout_ms = core.config.new_member_join_timeout_ms
        remove_member(core, group, member, kind="member_expired", timeout_ms=timeout_ms)
        detail = {"client_id": member.client_id, "timeout_ms": timeout_ms}
        cause = Cause(kind="session_expired", member_id=member.member_id, detail=detail)
        prepare_or_complete(core, group, [cause], now_ms)


def pending_member_expired(core: Core, group: ClassicGroup, member_id: str, now_ms: int) -> None:
    """An id that was told and never used no longer holds the join phase (KAFKA-7909)."""
    if group.pending.pop(member_id, None) is not None:
        core.out.announce(group.group_id, MembersChanged(member_ids=()))
        complete_if_all_are_back(core, group, now_ms)
