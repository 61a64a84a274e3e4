"""ConsumerGroupHeartbeats (KIP-848) as clients send them most of the time."""

from __future__ import annotations

STEADY = {
    "instance_id": None,
    "rack_id": None,
    "rebalance_timeout": -1,
    "subscribed_topic_names": None,
    "subscribed_topic_regex": None,
    "server_assignor": None,
    "topic_partitions": None,
}
"""The fields of one that says nothing new."""
