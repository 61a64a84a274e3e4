"""The account of a rebalance: why it began, since when it runs, and how its phases went.

Rules: it is for people; nothing is decided by it, and nothing of it is durable. Groups of both protocols keep one while they
rebalance, with what else they note beside it. Times are on the clock of `now_ms`.
Must not know: groups, what a phase means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kaas.coordinator.announcements import Cause, RebalanceCompleted
from kaas.coordinator.topics import Partitions


@dataclass(slots=True, kw_only=True)
class Account:
    """`phases`: those that are over, each with its length in ms. `also`: further causes that came meanwhile."""

    cause: Cause
    started_ms: int
    phase: str
    phase_since_ms: int
    phases: list[tuple[str, int]] = field(default_factory=list)
    also: list[Cause] = field(default_factory=list)

    def completed(
        self,
        now_ms: int,
        wall_offset_ms: int,
        *,
        outcome: str,
        generations: tuple[int, int],
        members: tuple[int, int],
        before: Mapping[str, bytes | Partitions],
        after: Mapping[str, bytes | Partitions],
        protocol_type: str,
        kind: str,
    ) -> RebalanceCompleted:
        """What is told of it at its end. Pairs are of before and after."""
        return RebalanceCompleted(
            started_at=self.started_ms + wall_offset_ms,
            ended_at=now_ms + wall_offset_ms,
            phases=(*self.phases, (self.phase, now_ms - self.phase_since_ms)),
            cause=self.cause,
            also=tuple(self.also),
            outcome=outcome,
            generation_before=generations[0],
            generation_after=generations[1],
            before=before,
            after=after,
            members_before=members[0],
            members_after=members[1],
            protocol_type=protocol_type,
            kind=kind,
        )
