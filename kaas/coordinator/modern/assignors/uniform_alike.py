"""The uniform assignor where all members subscribe to the same topics.

Rules
- The quota is the number of partitions by the number of members. What is left over makes extras: so many members have one more.
- A member keeps the first of what it had, up to its quota, and one more while there are extras.
- Extras that no member keeps go to the last members.
- What is free is dealt in the order of topics and partitions, in runs, member by member.
Source: Apache Kafka 4.2 `UniformHomogeneousAssignmentBuilder` (KAFKA-18688).
"""

from __future__ import annotations

from itertools import islice

from kaas.coordinator.modern.assignors.draft import Draft
from kaas.coordinator.modern.assignors.request import Request
from kaas.coordinator.topics import Partitions


def assign(request: Request) -> dict[str, Partitions]:
    """The target assignment, for one member or more."""
    draft = Draft(request)
    quota, extras = divmod(sum(request.partitions.values()), len(draft.members))
    extras = _keep(draft, quota, extras)
    _deal(draft, quota, extras)
    return draft.shares()


def _keep(draft: Draft, quota: int, extras: int) -> int:
    """Members keep what they had, up to what they may have. Returns how many extras are left."""
    for member in range(len(draft.members)):
        for topic, partition in islice(draft.had(member), quota + (extras > 0)):
            draft.give(topic, partition, member)
        extras -= draft.loads[member] > quota
    return extras


def _deal(draft: Draft, quota: int, extras: int) -> None:
    """Members take what is free, in turn, until each has what it is to have."""
    free = iter([(topic, partition) for topic in draft.owners for partition in draft.free(topic)])
    without_extra = [member for member, load in enumerate(draft.loads) if load <= quota]
    for place, member in enumerate(without_extra, start=1):
        due = quota + (place > len(without_extra) - extras) - draft.loads[member]
        for topic, partition in islice(free, due):
            draft.give(topic, partition, member)
