"""The range assignor: of every topic, each of its readers gets one run of partitions.

Rules: the readers of a topic stand in a row, static members first, by instance id, then the others by member id. The runs are
as long as each other, those of the first ones one longer where that does not come out even. What a member had before counts for
nothing: who comes early in the row moves the others.
Source: KIP-848; Apache Kafka 4.2 `RangeAssignor`.
"""

from __future__ import annotations

from kaas.coordinator.modern.assignors.request import Request, Subscriber
from kaas.coordinator.topics import Partitions


def assign(request: Request) -> dict[str, Partitions]:
    """The target assignment."""
    readers: dict[bytes, list[str]] = {topic: [] for topic in sorted(request.partitions)}
    for member_id, member in sorted(request.members.items(), key=_place):
        for topic in member.topics:
            readers[topic].append(member_id)
    shares: dict[str, Partitions] = {member_id: {} for member_id in request.members}
    for topic, member_ids in readers.items():
        for member_id, run in _runs(request.partitions[topic], member_ids):
            shares[member_id][topic] = run
    return shares


def _place(item: tuple[str, Subscriber]) -> tuple[bool, str]:
    """Where a member stands in the row."""
    member_id, member = item
    return (True, member_id) if member.instance_id is None else (False, member.instance_id)


def _runs(partitions: int, member_ids: list[str]) -> list[tuple[str, tuple[int, ...]]]:
    """Who gets which run of a topic; who gets none is left out."""
    if not member_ids:
        return []
    length, longer = divmod(partitions, len(member_ids))
    runs, first = [], 0
    for number, member_id in enumerate(member_ids[:partitions]):
        end = first + length + (number < longer)
        runs.append((member_id, tuple(range(first, end))))
        first = end
    return runs
