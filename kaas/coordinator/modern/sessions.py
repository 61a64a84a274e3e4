"""How long a member of a consumer group may be silent, and that it was heard.

Rules: a member under KIP-848 has the session timeout of its group, one of the classic protocol its own.
Must not know: what is done about a member that is silent.
Source: KIP-848; PROTOCOL 4.2 and 7.3.14 in docs/PROTOCOL.md.
"""

from __future__ import annotations

from kaas.coordinator import timers
from kaas.coordinator.core import Core
from kaas.coordinator.modern.group import Member, ModernGroup


def timeout_ms(core: Core, group: ModernGroup, member: Member) -> int:
    """The session timeout that counts for a member."""
    return member.session_timeout_ms(core.consumer_session_timeout_ms(group.group_id))


def heard(core: Core, group: ModernGroup, member: Member, now_ms: int) -> None:
    """The member's session begins anew."""
    group.heard_ms[member.member_id] = now_ms
    deadline_ms = now_ms + timeout_ms(core, group, member)
    core.out.set_timer(timers.session(group.group_id, member.member_id), deadline_ms)
