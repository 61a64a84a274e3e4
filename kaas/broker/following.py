"""What has to be told when settings or topics change while the broker runs.

Most of what uses a setting asks for it anew each time; the rest is told here: the coordinator has a configuration of its own,
rounds of timers are armed ahead, logs keep what they make of their topic's settings.
"""

from __future__ import annotations

from kaas.broker.broker import Broker
from kaas.broker.group_settings import group_config
from kaas.coordinator import timers
from kaas.coordinator.events import TopicKnown
from kaas.coordinator.topics import Topic as KnownTopic
from kaas.storage.log.config import LogConfig, log_config
from kaas.storage.topics import Topic

_ROUNDS = {
    timers.RETENTION: "offsets_retention_check_interval_ms",
    timers.TRANSACTION_EXPIRY: "transaction_remove_expired_interval_ms",
}
"""Timers that come again and again, and how often."""


def settings_changed(broker: Broker) -> None:
    """Put the settings as they are now in force, everywhere."""
    follow_coordinator(broker)
    follow_groups(broker)
    follow_logs(broker)


def follow_coordinator(broker: Broker) -> None:
    """Groups and transactions are judged by the settings as they are now; a round whose interval changed begins anew."""
    core = broker.groups.coordinator
    before, core.config = core.config, broker.settings.coordinator()
    if core.loading:  # the first rounds are armed when it has loaded
        return
    for key, name in _ROUNDS.items():
        interval_ms = getattr(core.config, name)
        if interval_ms != getattr(before, name):
            broker.groups.timers.set(key, broker.clock.now_ms() + interval_ms)


def follow_groups(broker: Broker) -> None:
    """Groups are judged by what was set on them; also at the start."""
    groups = broker.configs.groups()
    broker.groups.coordinator.group_configs = {group_id: group_config(texts) for group_id, texts in groups.items()}


def follow_logs(broker: Broker) -> None:
    """Every log follows the broker where its topic sets nothing."""
    made: dict[tuple[tuple[str, str], ...], LogConfig] = {}
    for topic in broker.topics.registry:
        key = tuple(sorted(topic.configs.items()))
        if key not in made:
            made[key] = log_config(broker.topics.registry.values(topic))
        _take(topic, made[key])


def follow_topic(broker: Broker, topic: Topic) -> None:
    """The logs of a topic that came, grew or was changed follow the broker as it is now, not as it was at its start."""
    if broker.settings.were_changed:
        _take(topic, log_config(broker.topics.registry.values(topic)))


def follow_topics(broker: Broker) -> None:
    """Groups are told which topics there are: all of them now, and from now on each that comes or changes."""

    def known(topic: Topic) -> None:
        shape = KnownTopic(topic.name, topic.topic_id.bytes, len(topic.partitions))
        broker.groups.submit(TopicKnown(topic=shape))

    for topic in broker.topics.registry:
        known(topic)
    broker.topics.listener = known


def _take(topic: Topic, config: LogConfig) -> None:
    for log in topic.partitions:
        log.config = config
