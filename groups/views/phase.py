"""The phase a group is in, in words: whom it waits for, and what ends the wait.

Job: a described group to two sentences and the moment at which the next timer fires.
Rules: static/js/phase_text.js says the same in the browser, and a test compares the two. A member that a classic group waits
for is removed by whichever ends first, its session or the wait for it. A consumer group names whom it waits for in the order of
its feed: who holds on to partitions comes first.
Must not know: requests, templates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from groups.templatetags.console import assignment, duration, name_of, visible

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseWords:
    """`head` in bold, `text` beside it; `since` and `until` are ISO 8601, null where nothing began or nothing ends."""

    head: str
    text: str
    since: str | None
    until: str | None = None


_CALM = {
    "Stable": "The group waits for nobody.",
    "Empty": "Nobody is in the group. Its offsets are kept until they expire.",
    "Dead": "The group is gone. A client that joins makes it anew.",
    "Assigning": "The next heartbeat of a member has the coordinator work out the new assignment.",
    "Reconciling": "Members give up and take over partitions, each at its next heartbeat.",
}

_OWN_ORDER = ("revocation", "heartbeat", "away")
"""Timers of consumer groups."""

_SESSION_ENDS = ("rebalance", "heartbeat", "away")
"""Waits that the end of the member's session may end, which moves with each heartbeat."""

_UNTIL = {
    "session": "is silent, and is removed when its session of {session} ends",
    "rebalance": "has not rejoined, and is removed when its rebalance timeout of {rebalance} ends",
    "pending_member": "got a member id and has not joined with it; the id is given up when its time ends",
    "sync": "leads the group and has not handed out the partitions; the group starts over when its time ends",
    "revocation": "has not given up {holds}, and is removed when its rebalance timeout of {rebalance} ends",
    "heartbeat": "is told of it at its next heartbeat, and is removed when its session of {session} ends without one",
    "away": "is a static member between two lives; its partitions wait for it until its session of {session} ends",
}


def phase_words(group: Row) -> PhaseWords:
    """The words for a group as groups.rows describes it."""
    phase = group["phase"]
    waiting = [_soonest(one, group) for one in phase["waiting_for"]]
    head = group["state"] if group["rebalance"] is None else _head(group, waiting)
    if not waiting:
        text = _CALM.get(group["state"], "") if group["rebalance"] is None or phase["name"] in _HEADS else ""
        return PhaseWords(head=head, text=text, since=phase["since"])
    first = waiting[0] if waiting[0]["timer"] in _OWN_ORDER else min(waiting, key=lambda one: one["deadline"])
    return PhaseWords(
        head=head, text=_first(first, phase["waiting_count"]), since=phase["since"], until=first["deadline"]
    )


_HEADS = {"assigning": "Waiting for a heartbeat", "reconciling": "Taking over partitions"}
"""Phases of a consumer group in which nobody is waited for by name."""


def _head(group: Row, waiting: list[Row]) -> str:
    name, count, members = group["phase"]["name"], group["phase"]["waiting_count"], group["member_count"]
    if name in _HEADS:
        return f"Waiting for {count} of {max(members, count)}" if count else _HEADS[name]
    if name == "joining" and waiting and waiting[0]["timer"] == "initial_delay":
        return "Waiting for more members"
    if name == "joining" and count:
        return f"Waiting for {count} of {max(members, count)} to rejoin"
    if name == "joining":
        return "Everybody has rejoined"
    return "Waiting for the assignment" if waiting else "Handing out the assignment"


def _first(first: Row, count: int) -> str:
    if first["timer"] == "initial_delay":
        return "A new group waits a moment, so that members that start together share its first generation."
    more = f" And {count - 1} more." if count > 1 else ""
    until = _UNTIL.get(first["timer"], "is awaited").format_map(first)
    return f"{first['name']} {until}.{more}"


def _soonest(one: Row, group: Row) -> dict[str, Any]:
    """An awaited member with its name, and with its session's end where that comes before the end of the wait."""
    member = next((row for row in group["members"] if row["member_id"] == one["member_id"]), None)
    if member is None:
        name = visible(one["client_id"] or one["member_id"] or "A member")
        empty = {"session": "", "rebalance": "", "holds": ""}
        return {"name": name, "timer": one["timer"], "deadline": one["deadline"], **empty}
    found = {
        "name": name_of(member),
        "timer": one["timer"],
        "deadline": one["deadline"],
        "session": duration(member["session_timeout_ms"]),
        "rebalance": duration(member["rebalance_timeout_ms"]),
        "holds": assignment(member["gives_up"]) or "its partitions",
    }
    if one["timer"] in _SESSION_ENDS and member["last_heartbeat_at"]:
        ends = _ms(member["last_heartbeat_at"]) + member["session_timeout_ms"]
        if one["timer"] != "rebalance":
            found["deadline"] = _iso(ends, one["deadline"])
        elif ends < _ms(one["deadline"]):
            found |= {"timer": "session", "deadline": _iso(ends, one["deadline"])}
    return found


def _ms(iso: str) -> float:
    return datetime.fromisoformat(iso).timestamp() * 1_000


def _iso(at_ms: float, like: str) -> str:
    zone = datetime.fromisoformat(like).tzinfo
    return datetime.fromtimestamp(at_ms / 1_000, zone).isoformat(timespec="milliseconds")
