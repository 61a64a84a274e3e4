"""One group in the words of the other protocol: a classic group as a consumer group, and the reverse.

Job: the data of both, and nothing else; the group that is read stays as it is.
Rules
- What a classic member was assigned is what it holds and is to hold; what cannot be read, or would be lost, is no consumer
  group (ValueError says why). Topics and partitions that are not there are left out, and of two who were given one
  partition the first has it.
- The generation is the epoch, and the reverse. A number that may have been given out and is not durable as a generation is
  below the first epoch that follows.
- What a member of a consumer group holds, or has not let go of, is what it is assigned: nobody else may be given that while it
  does not know better.
Must not know: requests, timers, records, when a group changes its protocol.
Source: KIP-848; PROTOCOL 4.6 and 7.3.11 in docs/PROTOCOL.md; Apache Kafka 4.2 `ConsumerGroup.fromClassicGroup`,
`ClassicGroup.fromConsumerGroup`; KAFKA-17733 (members without partitions), KAFKA-18134 (user data).
"""

from __future__ import annotations

from collections.abc import Mapping

from kaas.coordinator.classic.group import ClassicGroup
from kaas.coordinator.classic.group import Member as ClassicMember
from kaas.coordinator.classic.states import State
from kaas.coordinator.modern.group import ClassicPart, Member, ModernGroup
from kaas.coordinator.modern.reconcile import plus
from kaas.coordinator.topics import Partitions, Topics
from kaas.wire.consumer_protocol import (
    PROTOCOL_TYPE,
    Assignment,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)

# To a consumer group


def consumer_group_of(group: ClassicGroup, topics: Topics) -> ModernGroup:
    """Raises ValueError when a member's bytes cannot be read or have what a consumer group cannot keep."""
    modern = ModernGroup(
        group_id=group.group_id, epoch=max(group.generation, group.spent), target_epoch=group.generation
    )
    for member in group.members.values():
        held = held_of(member.assignment, modern, topics)
        modern.put(consumer_member_of(member, group.shown_metadata(member), group.generation, held))
    modern.target = {member.member_id: member.assigned for member in modern.members.values()}
    return modern


def consumer_member_of(member: ClassicMember, metadata: bytes, epoch: int, held: Partitions) -> Member:
    """Raises ValueError."""
    subscription = decode_subscription(metadata)
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=subscription.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        topics=topics_of(subscription),
        classic=ClassicPart(member.session_timeout_ms, member.protocols),
        epoch=epoch,
        previous_epoch=epoch,
        assigned=held,
        joined_at=member.joined_at,
    )


def topics_of(subscription: Subscription) -> tuple[str, ...]:
    """What a classic member subscribes to, as members of consumer groups have it."""
    return tuple(sorted({*subscription.topics}))


def held_of(assignment: bytes, group: ModernGroup, topics: Topics) -> Partitions:
    """What is assigned in these bytes and nobody of the group has yet. Raises ValueError."""
    decoded = decode_assignment(assignment)
    if decoded.user_data:  # an assignor of the clients' own keeps something there, which would be lost
        raise ValueError("an assignment has user data")
    named = partitions_of(decoded.partitions, topics)
    free = {topic_id: tuple(p for p in row if group.owner(topic_id, p) is None) for topic_id, row in named.items()}
    return {topic_id: row for topic_id, row in free.items() if row}


def partitions_of(named: Mapping[str, tuple[int, ...]], topics: Topics) -> Partitions:
    """Partitions by topic id; those that are not there are left out."""
    found = {}
    for name in sorted(named):
        topic = topics.by_name.get(name)
        if topic is not None and (row := tuple(sorted({p for p in named[name] if 0 <= p < topic.partitions}))):
            found[topic.topic_id] = row
    return dict(sorted(found.items()))


# To a classic group


def classic_group_of(group: ModernGroup, topics: Topics, reserved: int, now_ms: int) -> ClassicGroup:
    """A Stable group of members that all speak the classic protocol. `reserved`: see `ClassicGroup`."""
    reserved = max(reserved, group.epoch)
    classic = ClassicGroup(
        group_id=group.group_id,
        state=State.STABLE,
        state_since_ms=now_ms,
        generation=group.epoch,
        reserved=reserved,
        reserving=reserved,
        protocol_type=PROTOCOL_TYPE,
    )
    for member in group.members.values():
        classic.add(classic_member_of(member, topics, now_ms))
    classic.protocol_name = classic.vote()
    classic.assigned = {member.member_id: member.assignment for member in classic.members.values()}
    return classic


def classic_member_of(member: Member, topics: Topics, now_ms: int) -> ClassicMember:
    assert member.classic is not None
    return ClassicMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        session_timeout_ms=member.classic.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        protocols=member.classic.protocols,
        assignment=assignment_of(member.classic, plus(member.assigned, member.revoking), topics),
        synced=True,
        heard_ms=now_ms,
        joined_at=member.joined_at,
    )


def assignment_of(classic: ClassicPart, share: Partitions, topics: Topics) -> bytes:
    """A share in the bytes that a classic member reads, in the version in which it subscribed."""
    named = {topics.by_id[topic_id].name: row for topic_id, row in share.items() if topic_id in topics.by_id}
    version = decode_subscription(classic.protocols[0][1]).version
    return encode_assignment(Assignment(version=version, partitions=named))
