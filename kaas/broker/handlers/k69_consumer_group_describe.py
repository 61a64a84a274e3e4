"""ConsumerGroupDescribe (key 69), versions 0-1: consumer groups with their members (KIP-848).

Versions: 1 tells whether a member speaks the classic protocol.
A group with a topic that the client may not describe is refused as a whole (KAFKA-18813). A group that is not there, or is no
consumer group, is 69 with a message; without `consumer` in `group.coordinator.rebalance.protocols` every group is 35.
Left out: nothing.
"""

from __future__ import annotations

import uuid
from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.group_settings import serves_consumer_groups
from kaas.broker.partitions import UNASKED_OPERATIONS
from kaas.broker.request import Request
from kaas.broker.security.guard import authorized_operations, may
from kaas.broker.security.operations import GROUP_OPERATIONS, Kind, Operation
from kaas.coordinator import queries
from kaas.coordinator.queries import DescribedConsumer, DescribedConsumerGroup
from kaas.coordinator.topics import Partitions, Topics
from kaas.errors import ErrorCode
from kaas.wire.apis import CONSUMER_GROUP_DESCRIBE

API = CONSUMER_GROUP_DESCRIBE
CLASSIC, CONSUMER = 0, 1
"""What a member speaks."""

HIDDEN = "The group has topics that the client is not authorized to describe."


def handle(broker: Broker, request: Request) -> None:
    """Serve a ConsumerGroupDescribe."""
    message = request.decode()
    told = message.include_authorized_operations
    request.answer({"groups": [described(broker, request, group_id, told) for group_id in message.group_ids]})


def described(broker: Broker, request: Request, group_id: str, told: bool) -> dict[str, Any]:
    """One group, as far as the client may know of it."""
    if not serves_consumer_groups(broker.settings):
        return refused(group_id, ErrorCode.UNSUPPORTED_VERSION)
    if not may(request, Operation.DESCRIBE, Kind.GROUP, group_id):
        return refused(group_id, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    core = broker.groups.coordinator
    group = queries.describe_consumer_group(core, group_id)
    if group.code:
        # scripts around Kafka's tools look for these two words in what they print
        unknown = group.code is ErrorCode.GROUP_ID_NOT_FOUND
        return refused(group_id, group.code, f"Consumer group {group_id!r} not found." if unknown else None)
    shown = values(group, core.topics)
    if not all(may(request, Operation.DESCRIBE, Kind.TOPIC, name) for name in topics_in(shown)):
        return refused(group_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED, HIDDEN)
    if told:
        shown["authorized_operations"] = authorized_operations(request, Kind.GROUP, group_id, of=GROUP_OPERATIONS)
    return shown


def refused(group_id: str, code: ErrorCode, message: str | None = None) -> dict[str, Any]:
    return {
        "error_code": code,
        "error_message": message,
        "group_id": group_id,
        "authorized_operations": UNASKED_OPERATIONS,
    }


def values(group: DescribedConsumerGroup, topics: Topics) -> dict[str, Any]:
    return {
        "error_code": ErrorCode.NONE,
        "group_id": group.group_id,
        "group_state": group.state,
        "group_epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "assignor_name": group.assignor,
        "members": [member_values(row, topics) for row in group.members],
        "authorized_operations": UNASKED_OPERATIONS,
    }


def member_values(row: DescribedConsumer, topics: Topics) -> dict[str, Any]:
    member = row.member
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "rack_id": member.rack_id,
        "member_epoch": member.epoch,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "subscribed_topic_names": member.topics,
        "subscribed_topic_regex": member.regex,
        "assignment": assignment(member.assigned, topics),
        "target_assignment": assignment(row.target, topics),
        "member_type": CONSUMER if member.classic is None else CLASSIC,
    }


def assignment(partitions: Partitions, topics: Topics) -> dict[str, Any]:
    """By id and name; a topic that is gone has no name, and is left out."""
    return {
        "topic_partitions": [
            {"topic_id": uuid.UUID(bytes=topic_id), "topic_name": topics.by_id[topic_id].name, "partitions": row}
            for topic_id, row in partitions.items()
            if topic_id in topics.by_id
        ]
    }


def topics_in(shown: dict[str, Any]) -> dict[str, None]:
    """The names of topics that members have or are to have."""
    return {
        row["topic_name"]: None
        for member in shown["members"]
        for name in ("assignment", "target_assignment")
        for row in member[name]["topic_partitions"]
    }
