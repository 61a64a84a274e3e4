"""A group with one classic member in any state, and its offsets in every version.

m = stable(c, "g", ["t"])                     -> Member, the group is Stable
commit(c, "g", {("t", 0): 5}, m)              -> {("t", 0): error code}
committed(c, "g", [("t", 0)])                 -> {("t", 0): Offset(...)}, or every offset when nothing is named
"""

import struct
import uuid
from typing import NamedTuple

from tests.conformance.oracle.calls import ask, put
from tests.support.waiting import until


class Member(NamedTuple):
    id: str = ""
    generation: int = -1
    instance: str | None = None


class Offset(NamedTuple):
    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    error: int = 0


ANYONE = Member()
NOTHING = Offset(-1, -1, "", 0)


def subscription(*topics, version=0, tail=b""):
    """The metadata of a "consumer" member: topics it subscribes to, no user data."""
    names = b"".join(struct.pack(">h", len(t)) + t.encode() for t in topics)
    return struct.pack(">hi", version, len(topics)) + names + struct.pack(">i", -1) + tail


def join_values(
    group, topics=(), member="", instance=None, type="consumer", metadata=None, session=30_000, rebalance=30_000
):
    metadata = subscription(*topics) if metadata is None else metadata
    return {
        "group_id": group,
        "session_timeout": session,
        "rebalance_timeout": rebalance,
        "member_id": member,
        "group_instance_id": instance,
        "protocol_type": type,
        "protocols": [{"name": "range", "metadata": metadata}],
    }


def joined(c, group, topics=(), instance=None, **more):
    """A lone member after its Join: the group is in CompletingRebalance."""
    answer = ask(c, "JoinGroup", 5, **join_values(group, topics, instance=instance, **more))
    if answer.error_code == 79:
        answer = ask(c, "JoinGroup", 5, **join_values(group, topics, answer.member_id, instance, **more))
    assert answer.error_code == 0, answer
    return Member(answer.member_id, answer.generation_id, instance)


def synced(c, group, member, assignment=b"plan", type="consumer"):
    answer = ask(
        c,
        "SyncGroup",
        5,
        group_id=group,
        generation_id=member.generation,
        member_id=member.id,
        group_instance_id=member.instance,
        protocol_type=type,
        protocol_name="range",
        assignments=[{"member_id": member.id, "assignment": assignment}],
    )
    assert answer.error_code == 0, answer
    return member


def stable(c, group, topics=(), instance=None, assignment=b"plan", type="consumer", **more):
    """A lone member after its Sync: the group is Stable."""
    return synced(c, group, joined(c, group, topics, instance, type=type, **more), assignment, type)


def modern(c, group, *topics):
    """A lone member of a KIP-848 group; its generation is the member epoch."""
    answer = ask(
        c,
        "ConsumerGroupHeartbeat",
        1,
        group_id=group,
        member_id=str(uuid.uuid4()),
        member_epoch=0,
        rebalance_timeout=30_000,
        subscribed_topic_names=list(topics),
        topic_partitions=[],
    )
    assert answer.error_code == 0, answer
    return Member(answer.member_id, answer.member_epoch)


def modern_leave(c, group, member):
    answer = ask(
        c, "ConsumerGroupHeartbeat", 1, group_id=group, member_id=member.id, member_epoch=-1, topic_partitions=None
    )
    assert answer.error_code == 0, answer


def preparing(c, other, group, topics=()):
    """A lone member, and a second one parked on connection `other`: the group is in PreparingRebalance."""
    member = stable(c, group, topics)
    put(other, "JoinGroup", 3, **join_values(group, topics))
    until(lambda: state(c, group) == "PreparingRebalance")
    return member


def leave(c, group, member):
    answer = ask(
        c, "LeaveGroup", 3, group_id=group, members=[{"member_id": member.id, "group_instance_id": member.instance}]
    )
    assert answer.members[0].error_code == 0, answer


def emptied(c, group, topics=()):
    """A group that had a member: it is Empty, and not a simple group."""
    member = stable(c, group, topics)
    leave(c, group, member)
    return member


def beat(c, group, member):
    return ask(
        c,
        "Heartbeat",
        3,
        group_id=group,
        generation_id=member.generation,
        member_id=member.id,
        group_instance_id=member.instance,
    ).error_code


def describe(c, group, version=5, **more):
    return ask(c, "DescribeGroups", version, groups=[group], **more).groups[0]


def state(c, group):
    return describe(c, group).group_state


def listed(c, version=5, **filters):
    answer = ask(c, "ListGroups", version, **filters)
    assert answer.error_code == 0, answer
    return {g.group_id: g for g in answer.groups}


def named(topic, ids):
    return {"name": topic} if ids is None else {"name": topic, "topic_id": ids[topic]}


def rows_of(offsets, ids=None, epoch=-1, metadata=""):
    """Topic rows of a commit: {(topic, partition): offset, or (offset, leader epoch, metadata)}."""
    topics = {}
    for (topic, partition), value in offsets.items():
        offset, epoch_, metadata_ = value if isinstance(value, tuple) else (value, epoch, metadata)
        topics.setdefault(topic, []).append(
            {
                "partition_index": partition,
                "committed_offset": offset,
                "committed_leader_epoch": epoch_,
                "committed_metadata": metadata_,
            }
        )
    return [{**named(t, ids), "partitions": p} for t, p in topics.items()]


def codes(answer, names=None):
    """{(topic, partition): error code} of a commit's answer."""
    return {
        (topic.name if hasattr(topic, "name") else names[topic.topic_id], p.partition_index): int(p.error_code)
        for topic in answer.topics
        for p in topic.partitions
    }


def commit(c, group, offsets, member=ANYONE, version=8, ids=None, epoch=-1, metadata="", **more):
    """Commits, and returns the error code of each partition."""
    answer = ask(
        c,
        "OffsetCommit",
        version,
        group_id=group,
        generation_id_or_member_epoch=member.generation,
        member_id=member.id,
        group_instance_id=member.instance,
        topics=rows_of(offsets, ids, epoch, metadata),
        **more,
    )
    return codes(answer, ids and {i: t for t, i in ids.items()})


def commit_code(c, group, topic, member=ANYONE, version=8, offset=1, partition=0):
    """The error code of a commit to one partition."""
    return commit(c, group, {(topic, partition): offset}, member, version)[topic, partition]


def wanted(partitions, ids=None):
    if partitions is None:
        return None
    topics = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return [{**named(t, ids), "partition_indexes": p} for t, p in topics.items()]


def offsets_of(topics, names=None):
    return {
        (t.name if hasattr(t, "name") else names[t.topic_id], p.partition_index): Offset(
            p.committed_offset, getattr(p, "committed_leader_epoch", -1), p.metadata, int(p.error_code)
        )
        for t in topics
        for p in t.partitions
    }


def committed(c, group, partitions=None, version=7, require_stable=False, ids=None):
    """The offsets of a group, one group asked for; its group-level error must be 0."""
    topics = wanted(partitions, ids)
    names = ids and {i: t for t, i in ids.items()}
    if version < 8:
        answer = ask(c, "OffsetFetch", version, group_id=group, topics=topics, require_stable=require_stable)
    else:
        answer = ask(
            c,
            "OffsetFetch",
            version,
            require_stable=require_stable,
            groups=[{"group_id": group, "member_id": None, "member_epoch": -1, "topics": topics}],
        ).groups[0]
        assert answer.group_id == group
    assert getattr(answer, "error_code", 0) == 0, answer
    return offsets_of(answer.topics, names)


def offset(c, group, topic, partition=0, **more):
    """One partition's committed offset, as a row."""
    return committed(c, group, [(topic, partition)], **more)[topic, partition]


def delete_offsets(c, group, partitions):
    """OffsetDelete: (error of the group, {(topic, partition): error code})."""
    topics = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append({"partition_index": partition})
    answer = ask(c, "OffsetDelete", 0, group_id=group, topics=[{"name": t, "partitions": p} for t, p in topics.items()])
    return int(answer.error_code), codes(answer)


def delete_groups(c, *groups, version=2):
    """DeleteGroups: [(group, error code), ...] as answered."""
    return [(r.group_id, int(r.error_code)) for r in ask(c, "DeleteGroups", version, groups_names=list(groups)).results]
