"""Which states and transitions a simulation has visited, as a table, and which cells of the state table it has missed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from kaas.coordinator.classic.states import TABLE, State
from kaas.coordinator.modern.group import State as ModernState
from tests.simulation.consumer_coverage import ConsumerCoverage, grid

KINDS = ("Join", "Sync", "Heartbeat", "Leave", "Commit", "DeleteOffsets", "DeleteGroup")
COLUMNS = {"Heartbeat": "heartbeat", "Sync": "sync", "Commit": "commit"}
"""Requests that have a column in the state table."""


@dataclass(slots=True)
class Coverage:
    """`replies`: (state, request, code) to a count; a code of null is a request that was parked or waits for the disk."""

    replies: Counter[tuple[State, str, int | None]] = field(default_factory=Counter)
    moves: Counter[tuple[State, State]] = field(default_factory=Counter)
    other: Counter[str] = field(default_factory=Counter)
    consumers: ConsumerCoverage = field(default_factory=ConsumerCoverage)

    def replied(self, state: State, kind: str, code: int | None) -> None:
        self.replies[state, kind, code] += 1

    def announced(self, before: str, after: str, *, is_modern: bool) -> None:
        """A transition of a group that speaks this protocol now. One between words of both is a change of the protocol."""
        kind = ModernState if is_modern else State
        if {before, after} <= {state.value for state in kind}:
            (self.consumers if is_modern else self).moved(before, after)
        else:
            self.other["changes of protocol"] += 1

    def moved(self, before: str, after: str) -> None:
        self.moves[State(before), State(after)] += 1

    def missed(self) -> list[str]:
        """Cells of the state table that were never reached: a reply that was never given, an exit that was never taken."""
        missed = []
        for state, row in TABLE.items():
            for kind, column in COLUMNS.items():
                code = getattr(row, column)
                seen = [c for (s, k, c), n in self.replies.items() if (s, k) == (state, kind) and n]
                if (code not in seen) if code is not None else not seen:
                    missed.append(f"{state.value}: {kind} is {code if code is None else code.name}")
            missed += [f"{state.value} to {exit.value}" for exit in row.exits if not self.moves[state, exit]]
        return missed + self.consumers.missed()

    def table(self) -> str:
        """For people: requests by state with their codes, then transitions, then what else happened."""
        lines = grid("", State, KINDS, self._cell, self.moves)
        lines += ["", self.consumers.table()]
        lines += ["", "   ".join(f"{what} {count}" for what, count in sorted(self.other.items()))]
        return "\n".join(lines)

    def _cell(self, state: State, kind: str) -> str:
        codes = sorted(
            ((n, c) for (s, k, c), n in self.replies.items() if (s, k) == (state, kind)), key=lambda cell: -cell[0]
        )
        return " ".join(f"{'wait' if c is None else c}:{short(n)}" for n, c in codes[:3])


def short(count: int) -> str:
    return str(count) if count < 10_000 else f"{count // 1_000}k"
