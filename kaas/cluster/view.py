"""Who coordinates a group: the one place that answers, for requests, sweeps and lists alike.

Job: both tiers in one question: an explicit entry while its broker is registered, else the hash.
Rules: the view is a value; a newer assignment is a new view. `epoch` of a group is the assignment version since which this
broker has coordinated it.
Must not know: how an assignment comes about.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kaas.cluster.assignment import Assignment, BrokerEntry
from kaas.cluster.group_hash import broker_for


@dataclass(frozen=True, slots=True)
class ClusterView:
    """One assignment as one broker sees it."""

    broker_id: int
    assignment: Assignment
    _entries: dict[str, int] = field(default_factory=dict)
    _brokers: dict[int, BrokerEntry] = field(default_factory=dict)
    _alive: tuple[int, ...] = ()

    @classmethod
    def of(cls, broker_id: int, assignment: Assignment) -> ClusterView:
        brokers = {b.id: b for b in assignment.brokers}
        return cls(
            broker_id,
            assignment,
            {g.group_id: g.broker for g in assignment.consumer_groups if g.broker in brokers},
            brokers,
            tuple(sorted(b.id for b in assignment.brokers if b.state == "alive")),
        )

    @property
    def cluster_id(self) -> str:
        return self.assignment.cluster_id

    @property
    def brokers(self) -> tuple[BrokerEntry, ...]:
        """The living ones, by id."""
        return tuple(self._brokers[broker] for broker in self._alive)

    def coordinator_of(self, key: str) -> int | None:
        """The broker of a group or a transactional id; null when nobody is alive."""
        return self._entries[key] if key in self._entries else broker_for(key, self._brokers, self._alive)

    def coordinates(self, key: str) -> bool:
        """Whether this broker does."""
        return self.coordinator_of(key) == self.broker_id

    def address(self, broker_id: int, listener: str) -> tuple[str, int] | None:
        """Host and port of a broker on the listener that a request came in on."""
        broker = self._brokers.get(broker_id)
        found = next((row for row in broker.listeners if row.name == listener), None) if broker is not None else None
        return None if found is None else (found.host, found.port)
