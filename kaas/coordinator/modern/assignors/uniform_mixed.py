"""The uniform assignor where members subscribe to different topics.

Rules
- A member keeps what it had and still subscribes to.
- What is free goes to the reader of its topic that has least. The topics with most partitions for each reader come first, then
  those with fewer readers: they leave the least choice.
- Then partitions move, topic by topic, from the reader that has most to the one that has least, until they differ by one. A
  move for one topic may unbalance another, so that is done again while it changes anything, at most `PASSES` times.
Source: Apache Kafka 4.2 `UniformHeterogeneousAssignmentBuilder`.
"""

from __future__ import annotations

from heapq import heapify, heappop, heapreplace

from kaas.coordinator.modern.assignors.draft import Draft
from kaas.coordinator.modern.assignors.request import Request
from kaas.coordinator.topics import Partitions

PASSES = 16

Readers = dict[bytes, list[int]]


def assign(request: Request) -> dict[str, Partitions]:
    """The target assignment."""
    draft = Draft(request)
    readers = _readers(draft)
    for member in range(len(draft.members)):
        for topic, partition in draft.had(member):
            draft.give(topic, partition, member)
    for topic, members in readers.items():
        _deal(draft, topic, members)
    shared = {topic: members for topic, members in readers.items() if len(members) > 1}
    for _ in range(PASSES):
        if not sum([_balance(draft, topic, members) for topic, members in shared.items()]):
            break
    return draft.shares()


def _readers(draft: Draft) -> Readers:
    """The readers of each topic, those topics first that leave the least choice."""
    readers: Readers = {topic: [] for topic in draft.owners}
    for member, subscriber in enumerate(draft.members):
        for topic in subscriber.topics:
            readers[topic].append(member)

    def choice(topic: bytes) -> tuple[float, int]:
        return -len(draft.owners[topic]) / len(readers[topic]), len(readers[topic])

    return {topic: readers[topic] for topic in sorted(filter(readers.get, readers), key=choice)}


def _by_load(draft: Draft, members: list[int]) -> list[tuple[int, int, int]]:
    """Load, place and number of members, those with the least load first; a heap as it is."""
    rising = sorted(members, key=draft.loads.__getitem__)
    return [(draft.loads[member], place, member) for place, member in enumerate(rising)]


def _deal(draft: Draft, topic: bytes, members: list[int]) -> None:
    """What is free of a topic goes to who has least."""
    if free := draft.free(topic):
        takers = _by_load(draft, members)
        for partition in free:
            load, place, member = takers[0]
            draft.give(topic, partition, member)
            heapreplace(takers, (load + 1, place, member))


def _balance(draft: Draft, topic: bytes, members: list[int]) -> int:
    """Partitions of a topic move from who has most to who has least; how many.

    Who gives stays above who takes, so nobody does both.
    """
    takers, held = _by_load(draft, members), draft.by_owner(topic)
    givers = [(-load, -place, member) for load, place, member in takers if member in held]
    heapify(givers)
    moves = 0
    while givers and -givers[0][0] - takers[0][0] > 1:
        (least, place, taker), (most, giver_place, giver) = takers[0], givers[0]
        draft.move(topic, held[giver].pop(), taker)
        heapreplace(takers, (least + 1, place, taker))
        if held[giver]:
            heapreplace(givers, (most + 1, giver_place, giver))
        else:
            heappop(givers)
        moves += 1
    return moves
