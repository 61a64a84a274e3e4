"""What a heartbeat of KIP-848 is refused for, in the order in which Kafka looks.

Job: the form of the request, then the group, then who speaks, then of which epoch.
Rules: the first fault is told, and nothing has changed then. A known instance is exempt from the size of the group, as its
place is its own (Apache refuses it; see docs/decisions). A static member that says its first heartbeat again is taken like a
dynamic one, as its first answer may have been lost.
Must not know: what a good heartbeat does.
Source: PROTOCOL 2.11 and 7.3 in docs/PROTOCOL.md; Apache Kafka 4.2 `GroupMetadataManager.consumerGroupHeartbeat`.
"""

from __future__ import annotations

from collections.abc import Callable

from kaas.coordinator.answers import ConsumerHeartbeatAnswer
from kaas.coordinator.core import Core
from kaas.coordinator.events import ConsumerHeartbeat
from kaas.coordinator.modern.group import AWAY, LEFT, Member, ModernGroup
from kaas.coordinator.modern.reconcile import minus
from kaas.coordinator.topics import Partitions
from kaas.errors import ErrorCode

Refusal = ConsumerHeartbeatAnswer
"""An answer with a code and a sentence, and nothing else."""

Rule = tuple[Callable[[ConsumerHeartbeat], bool], str]

FORM: tuple[Rule, ...] = (
    (lambda e: not e.member_id and (e.makes_id or e.epoch > 0 or e.epoch == LEFT), "The member id is empty."),
    (lambda e: not e.group_id, "The group id is empty."),
    (lambda e: e.instance_id == "", "The instance id is empty."),
    (lambda e: e.rack_id == "", "The rack id is empty."),
    (lambda e: e.epoch == AWAY and e.instance_id is None, "Only a member with an instance id can leave for a while."),
    (lambda e: e.epoch < AWAY, "There is no such member epoch."),
)
"""What makes any heartbeat malformed."""

JOINING_FORM: tuple[Rule, ...] = (
    (lambda e: e.rebalance_timeout_ms == -1, "A first heartbeat must name the rebalance timeout."),
    (lambda e: e.owned is None or bool(e.owned), "A member that joins holds nothing: its list of partitions is empty."),
    (lambda e: e.topics is None and e.regex is None, "A first heartbeat must name topics or a pattern."),
)
"""What makes a heartbeat with epoch 0 malformed."""


def refusal(code: ErrorCode, message: str) -> Refusal:
    return Refusal(code=code, message=message)


NOT_DURABLE = refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The disk refused the write.")
"""What is told in place of an answer whose record was lost."""


def check_form(core: Core, event: ConsumerHeartbeat) -> Refusal | None:
    """What can be said before any group is looked at."""
    for rules in (FORM, JOINING_FORM) if event.epoch == 0 else (FORM,):
        for is_broken, message in rules:
            if is_broken(event):
                return refusal(ErrorCode.INVALID_REQUEST, message)
    if event.assignor is not None and event.assignor not in core.config.consumer_assignors:
        known = ", ".join(core.config.consumer_assignors)
        return refusal(
            ErrorCode.UNSUPPORTED_ASSIGNOR, f"There is no assignor {event.assignor!r} here; there are: {known}."
        )
    return None


def check_room(core: Core, group: ModernGroup, event: ConsumerHeartbeat) -> Refusal | None:
    """Whether there is a place for a member that is not in the group yet."""
    if len(group.members) < core.config.consumer_max_size:
        return None
    if event.member_id in group.members or group.holder(event.instance_id) is not None:
        return None
    return refusal(
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        f"The group has {core.config.consumer_max_size} members, and may have no more.",
    )


def check_joining(group: ModernGroup, event: ConsumerHeartbeat) -> Refusal | None:
    """Whether a first heartbeat can be of whom it says."""
    if event.instance_id is None:
        return None
    holder = group.holder(event.instance_id)
    is_live = holder is not None and holder.epoch != AWAY and holder.classic is None
    if holder is not None and is_live and holder.member_id != event.member_id:
        return refusal(ErrorCode.UNRELEASED_INSTANCE_ID, f"Another member has the instance id {event.instance_id!r}.")
    known = group.members.get(event.member_id)
    if known is not None and known.instance_id != event.instance_id:
        return refusal(ErrorCode.INVALID_REQUEST, "A member cannot change its instance id.")
    return None


def check_known(group: ModernGroup, member_id: str, instance_id: str | None) -> Refusal | None:
    """Whether a member that is in the group speaks: the instance first, so that who was replaced hears that it must stop."""
    if instance_id is not None:
        holder = group.holder(instance_id)
        if holder is None:
            return refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"No member has the instance id {instance_id!r}.")
        if holder.member_id != member_id:
            return refusal(ErrorCode.FENCED_INSTANCE_ID, f"Another member has the instance id {instance_id!r}.")
    elif member_id not in group.members:
        return refusal(ErrorCode.UNKNOWN_MEMBER_ID, f"There is no member {member_id!r} in this group.")
    return None


def check_epoch(member: Member, epoch: int, owned: Partitions | None) -> Refusal | None:
    """A member that did not hear its last answer may name the epoch before, as long as it claims nothing but its own."""
    if epoch == member.epoch:
        return None
    if epoch == member.previous_epoch < member.epoch and owned is not None and not minus(owned, member.assigned):
        return None
    return refusal(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The member is at epoch {member.epoch}, not {epoch}: it must give up its partitions and join again.",
    )
