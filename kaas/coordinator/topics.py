"""Which topics there are: what the assignment of consumer groups is made of.

Shape: a topic id is 16 bytes, as on the wire. `TopicIds` is topic id to partitions in rising order: what somebody holds.
Must not know: logs, leaders.
"""

from __future__ import annotations

import msgspec

Partitions = dict[bytes, tuple[int, ...]]
"""Topic id to partitions, rising; a topic without partitions is not in it. In order of topic ids where order matters."""


class Topic(msgspec.Struct, frozen=True, gc=False):
    """A topic that exists: its partitions are 0 to `partitions` - 1."""

    name: str
    topic_id: bytes
    partitions: int


class Topics:
    """Every topic of the cluster, by name and by id. `arrivals` grows when a name comes that was not there."""

    def __init__(self) -> None:
        self.by_name: dict[str, Topic] = {}
        self.by_id: dict[bytes, Topic] = {}
        self.arrivals = 0

    def put(self, topic: Topic) -> None:
        """A topic is new, grew, or was made anew under its name with another id."""
        self.arrivals += topic.name not in self.by_name
        self.drop(topic.name)
        self.by_name[topic.name] = topic
        self.by_id[topic.topic_id] = topic

    def named(self, partitions: Partitions) -> dict[str, tuple[int, ...]]:
        """The same by topic name, in the order of names; topics that are gone are left out."""
        known = [(self.by_id[topic_id].name, held) for topic_id, held in partitions.items() if topic_id in self.by_id]
        return dict(sorted(known))

    def drop(self, name: str) -> None:
        """A topic is gone."""
        topic = self.by_name.pop(name, None)
        if topic is not None:
            del self.by_id[topic.topic_id]
