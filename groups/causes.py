"""Why a group rebalanced, in one sentence per cause: the only place where these sentences are worded.

Job: cause and detail to a sentence.
Rules: the sentence names who and how long, in what the broker can know: a session that ran out means that the process
stopped answering, not that records are slow. A detail that is missing is left out, never invented; a cause that is not
known here is shown as it came.
Must not know: events, rows, pages.
Source of causes and details: kaas.feed.types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def cause_text(cause: str, member_id: str | None, detail: dict[str, Any]) -> str:
    """The sentence of a rebalance's cause. `member_id` is null where no member caused it."""
    sentence = _SENTENCES.get(cause)
    if sentence is None:
        return cause.replace("_", " ").capitalize() + "."
    return sentence(name_in(member_id, detail), detail)


def seconds(milliseconds: int) -> str:
    """A duration for people: 45 s, 1.5 s, 250 ms."""
    if milliseconds < 1_000:
        return f"{milliseconds} ms"
    return f"{milliseconds / 1_000:.1f}".rstrip("0").rstrip(".") + " s"


def name_in(member_id: str | None, detail: dict[str, Any]) -> str:
    """The name that an operator knows a member by: its instance, else its client, else its member id."""
    return detail.get("instance_id") or detail.get("client_id") or member_id or "A member"


def _joined(who: str, detail: dict[str, Any]) -> str:
    return f"{who} joined{_because(detail)}."


def _left(who: str, detail: dict[str, Any]) -> str:
    return f"{who} left{_because(detail)}."


def _removed(who: str, detail: dict[str, Any]) -> str:
    by = detail.get("by") or "an operator"
    reason = str(detail.get("reason") or "").removeprefix(_REMOVAL).removeprefix(":")
    return f"{who} was removed by {by}{_because({'reason': reason})}."


def _expired(who: str, detail: dict[str, Any]) -> str:
    silent = f" for {seconds(detail['silent_ms'])}" if detail.get("silent_ms") is not None else ""
    limit = f" (session timeout {seconds(detail['timeout_ms'])})" if detail.get("timeout_ms") is not None else ""
    return f"{who} was silent{silent}{limit}."


def _late(who: str, detail: dict[str, Any]) -> str:
    limit = f" of {seconds(detail['timeout_ms'])}" if detail.get("timeout_ms") is not None else ""
    if detail.get("phase") == "reconciling":
        return f"{who} did not give up its partitions within its rebalance timeout{limit}."
    return f"{who} did not rejoin within its rebalance timeout{limit}."


def _resubscribed(who: str, detail: dict[str, Any]) -> str:
    topics, pattern = _topics(detail) or ", ".join(detail.get("after") or []), detail.get("regex")
    wanted = " and ".join(part for part in (topics, f"the pattern {pattern}" if pattern else "") if part)
    return f"{who} changed its subscription{' to ' + wanted if wanted else ''}."


def _replaced(who: str, detail: dict[str, Any]) -> str:
    return f"A new process took over the static member {who}."


def _leader_rejoined(who: str, detail: dict[str, Any]) -> str:
    return f"The leader {who} asked for a new assignment{_because(detail)}."


def _partitions_changed(who: str, detail: dict[str, Any]) -> str:
    return f"The number of partitions changed: {_topics(detail) or 'a topic that the group reads'}."


def _topic_changed(who: str, detail: dict[str, Any]) -> str:
    if detail.get("patterns"):
        return f"{', '.join(detail['patterns'])} matches other topics than before: {_topics(detail)}."
    return f"A topic was created or deleted: {_topics(detail) or 'one that the group reads'}."


def _moved(who: str, detail: dict[str, Any]) -> str:
    version = detail.get("assignment_version")
    return (
        f"The coordinator moved to another broker{f' at assignment version {version}' if version is not None else ''}."
    )


def _assignment_failed(who: str, detail: dict[str, Any]) -> str:
    return f"The leader's assignment failed{_because(detail)}."


def _protocol_changed(who: str, detail: dict[str, Any]) -> str:
    return f"{who} changed its assignment protocol{_because(detail)}."


_REMOVAL = "member was removed by an admin"
"""How Kafka's admin clients begin the reason of a removal; the sentence says it already."""

_SENTENCES: dict[str, Callable[[str, dict[str, Any]], str]] = {
    "member_joined": _joined,
    "member_left": _left,
    "member_removed": _removed,
    "session_expired": _expired,
    "rebalance_timeout": _late,
    "subscription_changed": _resubscribed,
    "static_member_replaced": _replaced,
    "leader_rejoined": _leader_rejoined,
    "partitions_changed": _partitions_changed,
    "topic_changed": _topic_changed,
    "coordinator_moved": _moved,
    "assignment_failed": _assignment_failed,
    "protocol_changed": _protocol_changed,
}


def _because(detail: dict[str, Any]) -> str:
    reason = str(detail.get("reason") or "").strip().rstrip(".")
    return f": {reason}" if reason else ""


def _topics(detail: dict[str, Any]) -> str:
    return ", ".join(detail.get("topics") or [])
