"""Does a group rebalance again and again for one reason, who is that, and which setting matters?

Job: the newest rebalances of a group to a verdict; advice for a cause.
Rules: pure. A verdict needs three rebalances of one cause by one member within half an hour. A member that joins is no
reason: it comes back from one. Advice says only what a broker can know: a session that ran out means that the process stopped
answering (a pause, the network, a crash), not that records are slow; slow records show as a leave or as a join that is missed
after max.poll.interval.ms.
Must not know: the database, pages.
Source: KIP-62 (the two timeouts), KIP-345 (static members), KIP-800 (reasons).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from groups.causes import name_in, seconds
from kaas.feed.types import RebalanceRecord

LOOKED_AT = 12
"""How many of the newest rebalances are looked at."""

WITHIN_MS = 30 * 60_000
TIMES = 3

Detail = dict[str, Any]
Reason = tuple[str, str]
"""Cause, and the name of whoever caused it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flapping:
    """What repeats: in `count` of the last `of` rebalances. `advice` is null where there is none to give."""

    cause: str
    who: str
    count: int
    of: int
    text: str
    advice: str | None


def flapping(newest_first: Sequence[RebalanceRecord], now_ms: int) -> Flapping | None:
    """The reason that repeats most, null when none does. Only the newest LOOKED_AT are looked at."""
    recent = [one for one in newest_first[:LOOKED_AT] if now_ms - one.ended_at <= WITHIN_MS]
    found: dict[Reason, list[tuple[int, Detail]]] = {}
    for place, record in enumerate(recent):
        for reason, detail in _reasons(record).items():
            found.setdefault(reason, []).append((place, detail))
    repeated = [(reason, seen) for reason, seen in found.items() if len(seen) >= TIMES]
    if not repeated:
        return None
    (cause, who), seen = max(repeated, key=lambda one: len(one[1]))
    details = [detail for _, detail in seen]
    of = seen[-1][0] + 1
    return Flapping(
        cause=cause,
        who=who,
        count=len(seen),
        of=of,
        text=f"{len(seen)} of the last {of} rebalances: {_NAMED[cause](who, details[0])}.",
        advice=advice(cause, *details),
    )


def advice(cause: str, *details: Detail) -> str | None:
    """What to look at, and the setting that matters, for a cause that came once or several times."""
    if cause == "session_expired":
        return f"Its process stopped answering{_how_long(details)}: {_SILENT}"
    if cause == "rebalance_timeout" and any(detail.get("phase") == "reconciling" for detail in details):
        return _HOLDS_ON
    if cause == "member_left" and any(_polls_too_rarely(detail) for detail in details):
        return _SLOW
    return _ADVICE.get(cause)


def _reasons(record: RebalanceRecord) -> dict[Reason, Detail]:
    """The reasons of one rebalance, those that came while it ran as well; each counts once."""
    causes = [(record.cause, record.member_id, record.detail)]
    causes += [(str(one.get("cause")), one.get("member_id"), one.get("detail") or {}) for one in record.also]
    return {
        (cause, name_in(member_id, detail) if cause in _OF_A_MEMBER else ""): detail
        for cause, member_id, detail in causes
        if cause in _NAMED
    }


def _how_long(details: Sequence[Detail]) -> str:
    silent = sorted(detail["silent_ms"] for detail in details if detail.get("silent_ms") is not None)
    if not silent:
        return ""
    shortest, longest = seconds(silent[0]), seconds(silent[-1])
    each = " each time" if len(details) > 1 else ""
    return f" for {longest}{each}" if shortest == longest else f" for {shortest} to {longest}{each}"


def _polls_too_rarely(detail: Detail) -> bool:
    return "poll timeout" in str(detail.get("reason") or "")


def _silent(who: str, detail: Detail) -> str:
    limit = f" its {seconds(detail['timeout_ms'])} session" if detail.get("timeout_ms") is not None else " its session"
    return f"{who} silent past{limit}"


def _late(who: str, detail: Detail) -> str:
    return f"{who} did not {'give up its partitions' if detail.get('phase') == 'reconciling' else 'rejoin'} in time"


_NAMED = {
    "session_expired": _silent,
    "rebalance_timeout": _late,
    "member_left": lambda who, detail: f"{who} left",
    "member_removed": lambda who, detail: f"{who} was removed",
    "static_member_replaced": lambda who, detail: f"a new process took over {who}",
    "subscription_changed": lambda who, detail: f"{who} changed its subscription",
    "protocol_changed": lambda who, detail: f"{who} changed its assignment protocol",
    "assignment_failed": lambda who, detail: f"the assignment of {who} failed",
    "coordinator_moved": lambda who, detail: "the coordinator moved",
    "topic_changed": lambda who, detail: "topics came or went",
    "partitions_changed": lambda who, detail: "the number of partitions changed",
}
"""What repeats, in few words. A cause that is not here is nobody's fault: it does not count."""

_OF_A_MEMBER = _NAMED.keys() - {"coordinator_moved", "topic_changed", "partitions_changed"}

_SILENT = (
    "look for pauses, the network or a crash on its host before you raise session.timeout.ms (for members under KIP-848 the "
    "group's consumer.session.timeout.ms). Slow records do not silence a member."
)
_HOLDS_ON = (
    "It was still at work on partitions that it was to give up: raise max.poll.interval.ms, or take fewer records at a time "
    "with max.poll.records."
)
_SLOW = (
    "It took longer than max.poll.interval.ms between two polls: raise that, or take fewer records at a time with "
    "max.poll.records."
)
_ADVICE = {
    "rebalance_timeout": "It was still at work when the group asked it to rejoin: raise max.poll.interval.ms, or take fewer "
    "records at a time with max.poll.records.",
    "member_left": "Its process closes and comes back. With group.instance.id it may do so within session.timeout.ms without "
    "a rebalance.",
    "static_member_replaced": "Each start of a process with this group.instance.id replaces the one before: if two run at "
    "once, give each an id of its own.",
    "subscription_changed": "Subscribe once with every topic; with a pattern, topics that come and go change it.",
    "protocol_changed": "Members offer different partition.assignment.strategy, or under KIP-848 group.remote.assignor: bring "
    "all of them to the same.",
    "assignment_failed": "The leader's log says why its assignor failed.",
    "coordinator_moved": "Brokers come and go: the brokers page shows since when.",
    "topic_changed": "A topic that the group's subscription matches is created and deleted again and again.",
}
