"""A request on its way: the token that the coordinator answers with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False, slots=True)
class Call:
    """One delivery of one request. `kind` is the name of its event, `seqs` are the records that it made.

    `hear` is told the answer, or null when the connection broke. `code` is null while nobody has answered. `arrival`: the
    broker had had so many heartbeats of consumer groups when it came. `came`: it is with the broker. A request that the network
    delivers twice is two calls.
    """

    kind: str
    group_id: str
    hear: Callable[[Any], None]
    event: Any
    seqs: list[int] = field(default_factory=list)
    code: int | None = None
    arrival: int = 0
    came: bool = False

    def answer(self, code: int, answer: Any) -> None:
        self.code = code
        self.hear(answer)

    def lost(self) -> None:
        """The broker died."""
        self.hear(None)
