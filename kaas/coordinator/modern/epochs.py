"""When the group epoch grows because of topics, and what is made of it: the target assignment.

Job: see whether subscribed topics changed; choose the assignor; make the target of the group epoch.
Rules: topics are looked at again when one of them may have changed (`stale`), at the next heartbeat of anybody, so that many
changes make one epoch. The assignor is the one that most members prefer of those that the settings name; a tie goes to the
first of these, and so does a group without preferences.
A target costs as much as there are members and partitions. Where that is noticeable it is made only so often that it takes a
small part of the time, so that a thousand members that come together are shared among at a few moments; meanwhile the group is
Assigning, and who comes holds nothing yet. (Apache 4.3 waits too: KIP-1263.)
Must not know: requests, how a member gets to its target.
Source: KIP-848; PROTOCOL 4.1 and 4.5 in docs/PROTOCOL.md; KAFKA-18961 (new topics are noticed).
"""

from __future__ import annotations

import hashlib

from kaas.coordinator.announcements import Cause, MembersChanged, PartitionsChanged
from kaas.coordinator.core import Core
from kaas.coordinator.modern.assignors import ASSIGNORS
from kaas.coordinator.modern.assignors.request import Request, Subscriber
from kaas.coordinator.modern.change import Change
from kaas.coordinator.modern.group import Member, ModernGroup
from kaas.coordinator.topics import Topics

CHEAP = 500
"""Members and partitions of which a target is made at once, whenever it is asked for: that takes less than a millisecond."""
PER_MS = 50
"""Members and partitions for which there is a millisecond of rest after a target was made: about ten times what it took."""


def topic_changed(core: Core, name: str) -> None:
    """A topic came, grew or went: groups that subscribe to it are to look again."""
    for group in core.groups.values():
        modern = group.modern
        if modern is not None and modern.subscribes_to(name):
            modern.stale = True
            modern.changed_topics[name] = None


def tell_holders(core: Core, name: str) -> None:
    """A topic goes: what is shown of members that have partitions of it, or were to have them, is out of date."""
    topic = core.topics.by_name.get(name)
    if topic is None:
        return
    places = [(topic.topic_id, number) for number in range(topic.partitions)]
    for group in core.groups.values():
        modern = group.modern
        if modern is None:
            continue
        if any(place in modern.owners for place in places) or any(topic.topic_id in t for t in modern.target.values()):
            core.out.announce(group.group_id, MembersChanged(member_ids=None))


def look_at_topics(change: Change) -> None:
    """The group epoch grows if a subscribed topic is another one than at the last look."""
    group = change.group
    if not group.stale:
        return
    changed, before = list(group.changed_topics), group.metadata_hash
    remember_topics(change)
    if group.metadata_hash != before:
        for name in changed:
            change.core.out.announce(group.group_id, PartitionsChanged(topic=name))
        change.grow(Cause(kind="partitions_changed", detail={"topics": changed}))


def grow(change: Change, cause: Cause) -> None:
    """The group epoch grows because of members or of what they subscribe to."""
    remember_topics(change)
    change.grow(cause)


def remember_topics(change: Change) -> None:
    """What the subscribed topics are now is what the group epoch is of."""
    group = change.group
    group.stale, group.changed_topics = False, {}
    group.metadata_hash = metadata_hash(change.core.topics, group.subscribed())


def metadata_hash(topics: Topics, names: frozenset[str]) -> int:
    """A number that differs when one of these topics does: its id, or how many partitions it has; 0: none is there."""
    found = [topics.by_name[name] for name in sorted(names) if name in topics.by_name]
    if not found:
        return 0
    digest = hashlib.blake2b(digest_size=8)
    for topic in found:
        digest.update(topic.topic_id + topic.partitions.to_bytes(4))
    return int.from_bytes(digest.digest(), signed=True)


def retarget(change: Change) -> None:
    """Make the target of the group epoch, unless it is there, or is not due yet."""
    group = change.group
    if group.target_epoch == group.epoch or not group.members or is_resting(group, change.now_ms):
        return
    group.target_made_ms = change.now_ms
    name = chosen_assignor(change.core, group)
    change.set_target(ASSIGNORS[name](request_of(group, change.core.topics)), name)


def is_resting(group: ModernGroup, now_ms: int) -> bool:
    """Whether a target was made so short a time ago that the next one has to wait."""
    size = len(group.members) + len(group.owners)
    if size < CHEAP or group.target_made_ms is None or not group.target_epoch:
        return False
    return now_ms - group.target_made_ms < size // PER_MS


def chosen_assignor(core: Core, group: ModernGroup) -> str:
    """The assignor by which the next target is made."""
    return max(core.config.consumer_assignors, key=lambda name: group.preferences.get(name, 0))  # the first of equals


def request_of(group: ModernGroup, topics: Topics) -> Request:
    """What the assignor is asked. Most members subscribe alike, so what they subscribe to is worked out once."""
    known: dict[tuple[tuple[str, ...], str], tuple[bytes, ...]] = {}
    members = {}
    for member_id, member in group.members.items():
        key = member.topics, member.regex
        if key not in known:
            known[key] = topic_ids(group, member, topics)
        members[member_id] = Subscriber(member.instance_id, known[key], group.target.get(member_id, {}))
    partitions = {topic_id: topics.by_id[topic_id].partitions for row in known.values() for topic_id in row}
    return Request(members, partitions)


def topic_ids(group: ModernGroup, member: Member, topics: Topics) -> tuple[bytes, ...]:
    """The topics that exist and that a member subscribes to."""
    return tuple(sorted([topics.by_name[name].topic_id for name in group.topics_of(member) if name in topics.by_name]))
