"""What clients see of the world: a way to send, and the topics."""

from __future__ import annotations

from typing import Protocol

from tests.simulation.calls import Call


class Lives(Protocol):
    """`topics` is topic to number of partitions."""

    topics: dict[str, int]

    def send(self, call: Call) -> None:
        """Ask the broker, over the network."""
