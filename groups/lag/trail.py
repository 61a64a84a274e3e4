"""Where an array of offsets stood at a few past moments.

Job: note the array at regular ticks; say what it was at one of them.
Rules: only what changed is kept, as a reference, because arrays are replaced and never changed: a trail of something that
stands still costs one entry. What is older than the window goes, save the newest entry that still tells how the window began.
Must not know: what the numbers mean.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

Values = array  # of 64-bit integers


class Trail:
    """An array at past ticks; ticks come in order of time."""

    __slots__ = ("_notes",)

    def __init__(self) -> None:
        self._notes: list[tuple[int, Values]] = []

    def note(self, at: int, values: Values, *, since: int) -> None:
        """The array as it stands at a tick; forgets what no moment from `since` on needs."""
        notes = self._notes
        if not notes or (notes[-1][1] is not values and notes[-1][1] != values):
            notes.append((at, values))
        while len(notes) > 1 and notes[1][0] <= since:
            del notes[0]

    def at(self, moment: int) -> Values | None:
        """The array as it stood at a tick, null when that was before the first one."""
        for at, values in reversed(self._notes):
            if at <= moment:
                return values
        return None

    def over(self, moments: Iterable[int]) -> list[Values | None]:
        """The array at each of several ticks."""
        return [self.at(moment) for moment in moments]
