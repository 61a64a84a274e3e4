"""What the feed's publisher asks of the broker, and the start of the feed.

Must not know: Redis, groups' inner state.
"""

from __future__ import annotations

from collections.abc import Iterable

from kaas.broker.broker import Broker
from kaas.feed.publication import Press
from kaas.feed.publisher import Publisher
from kaas.feed.types import BrokerView, TopicView


class BrokerSource:
    """Answers from a broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def now_ms(self) -> int:
        return self._broker.clock.now_ms()

    def wall_offset_ms(self) -> int:
        return self._broker.clock.wall_offset_ms

    def broker_view(self) -> BrokerView:
        """`read_only` while the disk refuses writes."""
        broker = self._broker
        error = broker.groups.disk_error or broker.topics.disk_error
        return BrokerView(
            id=broker.broker_id,
            host=broker.host,
            port=broker.port,
            state="alive" if error is None else "read_only",
            at=broker.clock.wall_ms(),
            started_at=broker.started_at,
            incarnation=broker.incarnation,
            assignment_version=broker.cluster.assignment.assignment_version,
            group_count=len(broker.groups.coordinator.groups),
            error=None if error is None else str(error),
        )

    def topic_views(self, *, everything: bool) -> Iterable[TopicView]:
        return self._broker.topics.views(everything=everything)


def start_feed(broker: Broker, redis_url: str) -> Publisher:
    """Begin to publish everything that the broker's groups do."""
    settings, coordinator = broker.settings, broker.groups.coordinator
    press = Press(
        cluster=settings["kaas.cluster"],
        coordinator=broker.broker_id,
        epoch=coordinator.out.epoch,
        groups=coordinator.groups,
        ends=broker.topics,
        topics=coordinator.topics,
        session_timeout_ms=coordinator.consumer_session_timeout_ms,
        broken=coordinator.broken,
    )
    publisher = Publisher(
        redis_url,
        press,
        BrokerSource(broker),
        events_kept=settings["kaas.feed.events"],
        commits_interval_ms=settings["kaas.feed.commits.interval.ms"],
        topics_interval_ms=settings["kaas.feed.topics.interval.ms"],
    )
    broker.groups.audience = publisher
    publisher.start(coordinator.groups)
    return publisher
