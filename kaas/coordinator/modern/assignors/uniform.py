"""The uniform assignor: everybody reads about as much, and keeps what it has as far as that allows.

Rules: balance comes before staying. When all members subscribe to the same topics nobody has more than one partition more than
another, and nobody both gains and loses (`uniform_alike`). Else that holds for the readers of each topic as far as their other
topics let it (`uniform_mixed`).
Source: KIP-848; Apache Kafka 4.2 `UniformAssignor`.
"""

from __future__ import annotations

from kaas.coordinator.modern.assignors import uniform_alike, uniform_mixed
from kaas.coordinator.modern.assignors.request import Request
from kaas.coordinator.topics import Partitions


def assign(request: Request) -> dict[str, Partitions]:
    """The target assignment."""
    subscriptions = {member.topics for member in request.members.values()}
    return uniform_alike.assign(request) if len(subscriptions) == 1 else uniform_mixed.assign(request)
