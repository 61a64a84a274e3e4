"""Which replies and transitions of consumer groups a simulation has visited, and which it should have and has not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from kaas.coordinator.events import ConsumerHeartbeat
from kaas.coordinator.modern.group import AWAY, LEFT, State

JOIN, BEAT, LEAVE, PAUSE = "join", "beat", "leave", "pause"
KINDS = (JOIN, BEAT, LEAVE, PAUSE, "Commit", "Leave", "DeleteGroup")

OK, UNKNOWN_MEMBER, FENCED_INSTANCE, FENCED_EPOCH, UNRELEASED, TOO_MANY = 0, 25, 82, 110, 111, 81
LIVING = (State.ASSIGNING, State.RECONCILING, State.STABLE)
"""States of a group that somebody is in."""

REPLIES: dict[str, tuple[int, ...]] = {
    JOIN: (OK, UNRELEASED),
    BEAT: (OK, UNKNOWN_MEMBER),
    LEAVE: (OK,),
    PAUSE: (OK,),
    "Commit": (OK, UNKNOWN_MEMBER),
}
"""Codes that are given in each of these states, at least."""

SOMEWHERE = ((JOIN, TOO_MANY), (BEAT, FENCED_EPOCH))
"""Replies that are given in one of them, at least."""

EXITS: dict[State, tuple[State, ...]] = {
    State.EMPTY: (State.STABLE, State.DEAD),
    State.ASSIGNING: (State.RECONCILING, State.STABLE, State.EMPTY),
    State.RECONCILING: (State.STABLE, State.ASSIGNING, State.EMPTY),
    State.STABLE: (State.RECONCILING, State.ASSIGNING, State.EMPTY),
    State.DEAD: (),
}
"""Where a group goes from each state. One whose first member joins has its target at once, so it is never Assigning."""


def kind_of(event: object) -> str:
    """The name of a request; heartbeats are told apart by what they are for."""
    if not isinstance(event, ConsumerHeartbeat):
        return type(event).__name__
    return {0: JOIN, LEFT: LEAVE, AWAY: PAUSE}.get(event.epoch, BEAT)


S = TypeVar("S", bound=Enum)
"""The states of one protocol."""


def grid(
    title: str,
    states: type[S],
    kinds: Iterable[str],
    cell: Callable[[S, str], str],
    moves: Mapping[tuple[S, S], int],
) -> list[str]:
    """Lines for people: a row for each state with a cell for each request, then how often each state followed which."""
    kinds = list(kinds)
    lines = [f"{title:22}" + "".join(f"{kind:>28}" for kind in kinds)]
    for state in states:
        lines.append(f"{state.value:22}" + "".join(f"{cell(state, kind):>28}" for kind in kinds))
    lines += ["", f"{'from, to':22}" + "".join(f"{state.value:>22}" for state in states)]
    for before in states:
        counts = [moves.get((before, after)) or "" for after in states]
        lines.append(f"{before.value:22}" + "".join(f"{count:>22}" for count in counts))
    return lines


@dataclass(slots=True)
class ConsumerCoverage:
    """`replies`: (state, request, code) to a count; a code of null is a request that waits for the disk."""

    replies: Counter[tuple[State, str, int | None]] = field(default_factory=Counter)
    moves: Counter[tuple[State, State]] = field(default_factory=Counter)

    def moved(self, before: str, after: str) -> None:
        self.moves[State(before), State(after)] += 1

    def missed(self) -> list[str]:
        """What was never reached: a reply that was never given, an exit that was never taken."""
        missed = [
            f"{state.value}: {kind} is {code}"
            for state in LIVING
            for kind, codes in REPLIES.items()
            for code in codes
            if not self.replies[state, kind, code] and not (code == OK and self.replies[state, kind, None])
        ]
        seen = {(kind, code) for _, kind, code in self.replies}
        missed += [f"{kind} is {code}" for kind, code in SOMEWHERE if (kind, code) not in seen]
        exits = [(before, after) for before, row in EXITS.items() for after in row]
        missed += [f"{before.value} to {after.value}" for before, after in exits if not self.moves[before, after]]
        strange = [move for move in self.moves if move[1] not in EXITS[move[0]]]
        return missed + [f"{before.value} to {after.value} is not in the table" for before, after in strange]

    def table(self) -> str:
        """For people: requests by state with their codes, then transitions."""
        return "\n".join(grid("consumer groups", State, KINDS, self._cell, self.moves))

    def _cell(self, state: State, kind: str) -> str:
        counts = Counter({code: n for (s, k, code), n in self.replies.items() if (s, k) == (state, kind)})
        return " ".join(f"{'wait' if code is None else code}:{n}" for code, n in counts.most_common(4))
