"""Assignors asked in words: topics by name, members with what they subscribe to and what they had, shares by name."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st

from kaas.coordinator.modern.assignors import Assignor
from kaas.coordinator.modern.assignors.request import Request, Subscriber
from kaas.coordinator.topics import Partitions

Shares = dict[str, dict[str, tuple[int, ...]]]
TOPICS = ("T1", "T2", "T3", "T4")


def topic_id(name: str) -> bytes:
    """Ids are in the order of names."""
    return name.encode().ljust(16, b"\0")


def partitions(held: Mapping[str, object]) -> Partitions:
    return {topic_id(name): tuple(numbers) for name, numbers in sorted(held.items())}


def request(sizes: Mapping[str, int], subscribed, had=(), instances=()) -> Request:
    """`sizes`: topic to partitions. `subscribed`: member to topics. `had`: member to the shares before, by topic."""
    had, instances = dict(had), dict(instances)
    members = {
        member: Subscriber(instances.get(member), tuple(sorted(map(topic_id, topics))), partitions(had.get(member, {})))
        for member, topics in subscribed.items()
    }
    wanted = {name for topics in subscribed.values() for name in topics}
    return Request(members, {topic_id(name): size for name, size in sizes.items() if name in wanted})


def assigned(assign: Assignor, *asked, **more) -> Shares:
    """Shares by member and topic name."""
    return by_name(assign(request(*asked, **more)))


def by_name(shares: Mapping[str, Partitions]) -> Shares:
    return {
        member: {topic.rstrip(b"\0").decode(): held for topic, held in topics.items()}
        for member, topics in shares.items()
    }


def pairs(held: Mapping[object, tuple[int, ...]]) -> set[tuple[object, int]]:
    """(topic, partition) of a share."""
    return {(topic, partition) for topic, numbers in held.items() for partition in numbers}


def load(held: Mapping[object, tuple[int, ...]]) -> int:
    return sum(map(len, held.values()))


def check(asked: Request, shares: Mapping[str, Partitions]) -> None:
    """What every assignor keeps to: each partition once, only to who subscribes, everything, in order, nobody left out."""
    assert set(shares) == set(asked.members)
    given = [pair for held in shares.values() for pair in pairs(held)]
    assert len(given) == len(set(given))
    assert set(given) == {(topic, p) for topic, size in asked.partitions.items() for p in range(size)}
    for member, held in shares.items():
        assert set(held) <= set(asked.members[member].topics)
        assert list(held) == sorted(held)
        assert all(numbers and list(numbers) == sorted(numbers) for numbers in held.values())


def after(asked: Request, shares: Mapping[str, Partitions]) -> Request:
    """The same question again when the shares were handed out."""
    members = {
        member: Subscriber(one.instance_id, one.topics, shares.get(member, {})) for member, one in asked.members.items()
    }
    return Request(members, asked.partitions)


names = st.sampled_from(TOPICS)
sizes = st.fixed_dictionaries({name: st.integers(1, 7) for name in TOPICS})
member_ids = st.lists(st.sampled_from("ABCDEFGH"), min_size=1, unique=True)


def _had(draw, ids: list[str]) -> dict[str, dict[str, set[int]]]:
    """Shares before: no partition twice, some of topics that are gone or were longer."""
    had: dict[str, dict[str, set[int]]] = {member: {} for member in ids}
    owned = st.tuples(st.sampled_from((*TOPICS, "gone")), st.integers(0, 9))
    for (topic, partition), member in draw(st.dictionaries(owned, st.sampled_from(ids), max_size=25)).items():
        had[member].setdefault(topic, set()).add(partition)
    return {member: {topic: sorted(numbers) for topic, numbers in topics.items()} for member, topics in had.items()}


@st.composite
def alike(draw) -> Request:
    """Members that all subscribe to the same topics."""
    ids = draw(member_ids)
    topics = draw(st.lists(names, unique=True))
    return request(draw(sizes), dict.fromkeys(ids, topics), _had(draw, ids), _instances(draw, ids))


@st.composite
def mixed(draw) -> Request:
    """Members that subscribe to what they like."""
    ids = draw(member_ids)
    subscribed = {member: draw(st.lists(names, unique=True)) for member in ids}
    return request(draw(sizes), subscribed, _had(draw, ids), _instances(draw, ids))


def _instances(draw, ids: list[str]) -> dict[str, str]:
    static = draw(st.lists(st.sampled_from(ids), unique=True))
    return {member: f"i{number}" for number, member in enumerate(static)}
