"""Does a rule's condition hold for a group at this moment?

Job: one function per kind of rule; each answers with a sentence that has the numbers, or with null.
Rules: pure functions of a row of the index. What is not known fulfils no condition: nobody is woken for a guess.
Must not know: the database, webhooks, how long a condition has held.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from groups.choices import AlertKind, LagStatus
from groups.index import GroupRow
from groups.lag.states import status_text
from groups.lag.window import span


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What a rule asks. `threshold`: records or members; `for_ms`: for commits how old the newest one may be, else how long
    the condition must hold before somebody is told."""

    kind: str
    threshold: int = 0
    statuses: frozenset[str] = frozenset()
    for_ms: int = 0

    @property
    def waits_ms(self) -> int:
        """How long it must hold: the age of a commit has that time in it already."""
        return 0 if self.kind == AlertKind.NO_COMMITS else self.for_ms


Flaps = Mapping[str, str]
"""Group id to the sentence of what makes it flap."""

Test = Callable[[Condition, GroupRow, Flaps, int], str | None]


def found(condition: Condition, row: GroupRow, flaps: Flaps, now_ms: int) -> str | None:
    """What a rule finds at a group, null when its condition does not hold."""
    return _TESTS[condition.kind](condition, row, flaps, now_ms)


def _lag(condition: Condition, row: GroupRow, flaps: Flaps, now_ms: int) -> str | None:
    lag = row.total_lag()
    if lag is None or lag < condition.threshold:
        return None
    return f"{_records(lag)}; the rule says {condition.threshold:,} or more."


def _status(condition: Condition, row: GroupRow, flaps: Flaps, now_ms: int) -> str | None:
    status = row.lag_status()
    if status not in condition.statuses:
        return None
    ruling = row.ruling()
    return f"{LagStatus(status).label}: {ruling.text if ruling else status_text(status)}"


def _flapping(condition: Condition, row: GroupRow, flaps: Flaps, now_ms: int) -> str | None:
    return flaps.get(row.group_id)


def _member_loss(condition: Condition, row: GroupRow, flaps: Flaps, now_ms: int) -> str | None:
    if row.member_count >= condition.threshold:
        return None
    return f"{_members(row.member_count)}; the rule asks for {condition.threshold:,}."


def _no_members(condition: Condition, row: GroupRow, flaps: Flaps, now_ms: int) -> str | None:
    return None if row.member_count else f"The group is {row.state} and has no members."


def _no_commits(condition: Condition, row: GroupRow, flaps: Flaps, now_ms: int) -> str | None:
    """Only where somebody could commit and something waits: a group that read everything need not commit."""
    if not row.member_count or not row.total_lag() or row.last_commit_at is None:
        return None
    silent_ms = now_ms - row.last_commit_at
    if silent_ms < condition.for_ms:
        return None
    return f"Nothing was committed for {span(silent_ms)} while {_records(row.total_lag() or 0)}."


_TESTS: dict[str, Test] = {
    AlertKind.LAG: _lag,
    AlertKind.LAG_STATUS: _status,
    AlertKind.FLAPPING: _flapping,
    AlertKind.MEMBER_LOSS: _member_loss,
    AlertKind.NO_MEMBERS: _no_members,
    AlertKind.NO_COMMITS: _no_commits,
}


def _records(count: int) -> str:
    return "1 record waits" if count == 1 else f"{count:,} records wait"


def _members(count: int) -> str:
    return "1 member" if count == 1 else f"{count:,} members"
