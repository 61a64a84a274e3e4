"""Where the feed stands in Redis: one place for every key and channel name.

Job: names, so that writer and readers cannot differ.
Rules: everything of a cluster starts with `kaas:<cluster>:`.
"""

from __future__ import annotations

EVENTS_KEPT = 100_000
"""Default length of a cluster's event stream (approximate trimming)."""


def groups(cluster: str) -> str:
    """Hash: group id to snapshot."""
    return f"kaas:{cluster}:groups"


def events(cluster: str) -> str:
    """Stream of events; each entry has the one field `e`, an Event as JSON."""
    return f"kaas:{cluster}:events"


def topics(cluster: str) -> str:
    """Hash: topic name to TopicView."""
    return f"kaas:{cluster}:topics"


def brokers(cluster: str) -> str:
    """Hash: broker id to BrokerView."""
    return f"kaas:{cluster}:brokers"


def pulse(cluster: str) -> str:
    """Pub/sub channel of Pulse messages, at most five a second."""
    return f"kaas:{cluster}:pulse"


EVENT_FIELD = b"e"
