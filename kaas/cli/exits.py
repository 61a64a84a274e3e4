"""How a command ends: one status for each thing that a script would do differently.

Must not know: requests, terminals.
"""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """Exit statuses; `meaning` is what docs/CLI.md says of each."""

    DONE = 0
    REFUSED = 1
    USAGE = 2
    UNREACHABLE = 3
    NOT_FOUND = 4
    PARTLY = 5
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        """One sentence."""
        return _MEANINGS[self]


_MEANINGS = {
    Exit.DONE: "Done.",
    Exit.REFUSED: "Refused: the token may not, a value makes no sense, the group is in the wrong state, the cluster said no, "
    "or somebody answered no. Nothing was changed. With `alerts --fail-if-firing`: one fires.",
    Exit.USAGE: "The command makes no sense as it was written.",
    Exit.UNREACHABLE: "The console or the cluster does not answer, or asks for patience: the same may help later.",
    Exit.NOT_FOUND: "There is no such thing, or none that the token may see.",
    Exit.PARTLY: "A part was done, or a part of the answer is missing; the output says which.",
    Exit.INTERRUPTED: "Ended by Ctrl-C.",
}


class Failed(Exception):
    """A command that ends with anything but `DONE`. The message is a sentence; `problem` is the API's error object, if
    there is one."""

    def __init__(self, status: Exit, message: str, problem: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.problem = problem
