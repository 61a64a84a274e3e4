"""A rebalance that is over, as lanes: what each member did in it, and whom the group waited for.

Job: a row of the history to lanes with their segments in per cent of its duration, and to sentences; the place of a number
among all that are remembered.
Rules: a member lane has the same kinds as the live timeline. Who came last or never is who was waited for: a newcomer is not.
Must not know: requests, templates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from groups.templatetags.console import duration, member_name, visible

Row = Mapping[str, Any]

LANES_SHOWN = 60
"""So many lanes are drawn, those that were waited for first."""

WAITED_SHOWN = 3

ENDS = {
    "member_left": ("left", "left"),
    "member_expired": ("expired", "was removed"),
    "member_fenced": ("fenced", "was fenced"),
    "member_replaced": ("fenced", "was replaced"),
}
"""How a member went: the lane's mark, and the word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A stretch of a lane; `x` and `width` in per cent."""

    kind: str
    x: str
    width: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One member: `end` is the mark of its end (empty: it stayed) at `end_x` per cent, `note` says the same in words;
    `is_longest`: nobody was waited for longer."""

    member_id: str
    name: str
    segments: tuple[Segment, ...]
    end: str
    end_x: str
    note: str
    is_longest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A rebalance as lanes. `hidden` more have no lane; `waited` are sentences, empty where nobody was waited for."""

    lanes: tuple[Lane, ...]
    hidden: int
    waited: tuple[str, ...]
    ticks: tuple[tuple[str, str], ...]


def recorded(row: Row) -> Recorded:
    """A row of the history, drawn."""
    manner = _RECONCILED if row["kind"] == "consumer" else _REJOINED
    parts = sorted(row["parts"], key=_urgency)
    whole = max(1, row["duration_ms"])
    joining = row["phases"][0]["duration_ms"] if row["phases"] and row["phases"][0]["name"] == "joining" else whole
    longest = next((part["member_id"] for part in parts if _waited(part, manner)), None)
    lanes = tuple(_lane(part, manner, joining, whole, part["member_id"] == longest) for part in parts[:LANES_SHOWN])
    waited = tuple(sentence for part in parts if (sentence := _waited(part, manner)))
    return Recorded(
        lanes=lanes,
        hidden=len(parts) - len(lanes),
        waited=waited[:WAITED_SHOWN],
        ticks=tuple((_per_cent(whole * share // 4, whole), duration(whole * share // 4)) for share in range(4)),
    )


def _urgency(part: Row) -> tuple[bool, int, str]:
    """Who was waited for longest first, who was new last."""
    never = part["joined_ms"] is None
    waited_ms = part["gone_ms"] if never else part["joined_ms"]
    waited_ms = 2**62 if waited_ms is None else waited_ms
    return part["is_new"], -waited_ms, part["name"]


Marks = list[tuple[str, int, int]]
"""Kind of a segment, and the milliseconds between which it lies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Manner:
    """How the members of a type of group go through a rebalance, and the words for it. `marks` takes a part, the length of the
    join phase and the end of the lane."""

    marks: Callable[[Row, int, int], Marks]
    at_once: str
    after: str
    never: str


def _rejoin_marks(part: Row, joining: int, end: int) -> Marks:
    """Awaited until its Join came, then joining as long as others were awaited, then until the assignments were there."""
    joined = end if part["joined_ms"] is None else min(end, part["joined_ms"])
    awaited: Marks = [("missing", 0, joined)] if not part["is_new"] else []
    return [*awaited, ("joining", joined, min(end, joining)), ("syncing", max(joined, joining), end)]


def _reconcile_marks(part: Row, joining: int, end: int) -> Marks:
    """Awaited until it had let go of what it was to give up, then waiting until it had all that it was to have."""
    let_go = end if part["joined_ms"] is None else min(end, part["joined_ms"])
    done = end if part["synced_ms"] is None else min(end, max(let_go, part["synced_ms"]))
    awaited: Marks = [("missing", 0, let_go)] if not part["is_new"] else []
    return [*awaited, ("waiting", let_go, done), ("stable", done, end)]


_REJOINED = _Manner(marks=_rejoin_marks, at_once="came back at once", after="back after", never="did not come back")
_RECONCILED = _Manner(marks=_reconcile_marks, at_once="let go at once", after="let go after", never="did not let go")


def _lane(part: Row, manner: _Manner, joining: int, whole: int, is_longest: bool) -> Lane:
    end = whole if part["gone_ms"] is None else min(whole, part["gone_ms"])
    mark, _ = ENDS.get(part["gone"] or "", ("gone", "went")) if part["gone_ms"] is not None else ("", "")
    segments = (
        Segment(kind=kind, x=_per_cent(since, whole), width=_per_cent(until - since, whole))
        for kind, since, until in manner.marks(part, joining, end)
        if until > since
    )
    return Lane(
        member_id=part["member_id"],
        name=_name(part),
        segments=tuple(segments),
        end=mark,
        end_x=_per_cent(end, whole),
        note=_note(part, manner),
        is_longest=is_longest,
    )


def _note(part: Row, manner: _Manner) -> str:
    words = []
    if part["is_new"]:
        words.append("joined" if not part["joined_ms"] else f"joined after {duration(part['joined_ms'])}")
    elif part["joined_ms"] is not None:
        words.append(f"{manner.after} {duration(part['joined_ms'])}" if part["joined_ms"] else manner.at_once)
    if manner is _RECONCILED and (part["synced_ms"] or 0) > (part["joined_ms"] or 0):
        words.append(f"done after {duration(part['synced_ms'])}")
    if part["gone_ms"] is not None:
        word = ENDS.get(part["gone"] or "", ("gone", "went"))[1]
        words.append(f"{word} after {duration(part['gone_ms'])}" if part["gone_ms"] else word)
    return ", ".join(words) or manner.never


def _waited(part: Row, manner: _Manner) -> str:
    """A sentence about a member that the others waited for, empty for one that came at once."""
    if part["is_new"]:
        return ""
    if part["joined_ms"]:
        verb = "let go" if manner is _RECONCILED else "came back"
        return f"{_name(part)}, which {verb} after {duration(part['joined_ms'])}"
    if part["joined_ms"] is None and part["gone_ms"] != 0:
        word = ENDS.get(part["gone"] or "", ("", manner.never))[1]
        return f"{_name(part)}, which {word}" + (f" after {duration(part['gone_ms'])}" if part["gone_ms"] else "")
    return ""


def _name(part: Row) -> str:
    return visible(part["name"]) if part["name"] else member_name(part["member_id"])


def _per_cent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.2f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrub:
    """Where one stands among the rebalances that are remembered; `at` is null while one looks at the present."""

    first: int
    last: int
    at: int | None

    @property
    def older(self) -> int | None:
        """The number before this one, from the present the newest."""
        if self.at is None:
            return self.last
        return self.at - 1 if self.at > self.first else None

    @property
    def newer(self) -> int | None:
        return self.at + 1 if self.at is not None and self.at < self.last else None

    @property
    def place(self) -> int:
        """The slider's value: behind the newest lies the present."""
        return self.last + 1 if self.at is None else self.at

    @property
    def end(self) -> int:
        return self.last + 1
