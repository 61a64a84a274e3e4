"""Checks that several requests share, in their order.

Source: PROTOCOL 2.0 `validateMember`, in docs/PROTOCOL.md.
"""

from __future__ import annotations

from kaas.coordinator.classic.group import ClassicGroup
from kaas.errors import ErrorCode


def check_member(group: ClassicGroup, member_id: str, instance_id: str | None) -> ErrorCode:
    """Who speaks: the instance first, then who holds it, then the member id.

    In this order because a replaced static member must hear 82 and stop, not 25 and join again (KIP-345).
    """
    if instance_id is not None:
        holder = group.instances.get(instance_id)
        if holder is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if holder != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
    if member_id not in group.members:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE


def check_generation(group: ClassicGroup, generation: int) -> ErrorCode:
    """A request of another generation acts on an assignment that no longer holds; the member id stays good."""
    return ErrorCode.NONE if generation == group.generation else ErrorCode.ILLEGAL_GENERATION
