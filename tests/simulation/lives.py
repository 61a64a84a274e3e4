"""What clients see of the world: a way to send, the topics, the time."""

from __future__ import annotations

from typing import Protocol

from tests.simulation.calls import Call
from tests.simulation.clock import Clock


class Lives(Protocol):
    """`topics` is topic to number of partitions."""

    topics: dict[str, int]
    clock: Clock

    def send(self, call: Call) -> None:
        """Ask the broker, over the network."""
