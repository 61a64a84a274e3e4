"""Topics, brokers and groups as things whose settings can be changed.

Job: for a resource that a request names: what is set on it, what can be set, and how a change is put in force.
Rules: whatever cannot be changed is refused with Apache's codes. A change is decided and made in one turn, so that two that
come at one time both count.
Must not know: requests.
Source: Apache Kafka 4.2, ConfigAdminManager, ConfigurationControlManager.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from kaas.broker.broker import Broker
from kaas.broker.config_changes import Changes, check_broker, check_group
from kaas.broker.config_rows import Resource, text_of
from kaas.broker.configs import ALL_BROKERS
from kaas.broker.following import follow_topic
from kaas.broker.group_settings import FOR_ALL, GROUP_SETTINGS, check_times, times_of
from kaas.broker.settings import TABLE, BadSetting
from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.settings import TOPIC_SETTINGS, ConfigType
from kaas.storage.topics import Topic, check_topic_name

Done = Callable[[Any], None]
"""Gets anything when a change is in force, or the KafkaError that came in its place."""
Decide = Callable[["Target"], Changes]


class Target(Protocol):
    """One resource."""

    def present(self) -> Mapping[str, str]:
        """What is set on it. Raises KafkaError."""

    def in_force(self, name: str) -> str:
        """The value of a list."""

    def is_list(self, name: str) -> bool: ...

    def check(self, changes: Changes) -> None:
        """Whether it may be changed so. Raises KafkaError."""

    def apply(self, changes: Changes, done: Done) -> None:
        """Put changes in force that were checked."""


class TopicTarget:
    """A topic by its name."""

    def __init__(self, broker: Broker, name: str) -> None:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        check_topic_name(name)
        self._broker = broker
        self._name = name

    def _topic(self) -> Topic:
        topic = self._broker.topics.registry.get(self._name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{self._name}' does not exist.")
        return topic

    def present(self) -> Mapping[str, str]:
        return self._topic().configs

    def in_force(self, name: str) -> str:
        return self._broker.topics.registry.values(self._topic())[name]

    def is_list(self, name: str) -> bool:
        return name in TOPIC_SETTINGS and TOPIC_SETTINGS[name].type == ConfigType.LIST

    def check(self, changes: Changes) -> None:
        self._broker.topics.registry.check_configs(self._topic().name, changes)

    def apply(self, changes: Changes, done: Done) -> None:
        def configured(result: Topic | KafkaError) -> None:
            if not isinstance(result, KafkaError):
                follow_topic(self._broker, result)
            done(result)

        self._broker.topics.configure(self._name, changes, configured)


class BrokerTarget:
    """This broker by its number, or all brokers by the empty name."""

    def __init__(self, broker: Broker, name: str) -> None:
        if name != ALL_BROKERS and not name.removeprefix("-").isdecimal():
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
        if name not in (ALL_BROKERS, str(broker.broker_id)):
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {broker.broker_id}, but received {name}"
            )
        self._broker = broker
        self._name = name

    def present(self) -> Mapping[str, str]:
        return self._broker.configs.broker(self._name)

    def in_force(self, name: str) -> str:
        return text_of(self._broker.settings[name])

    def is_list(self, name: str) -> bool:
        return name in TABLE and TABLE[name].kind == "list"

    def check(self, changes: Changes) -> None:
        check_broker(changes)

    def apply(self, changes: Changes, done: Done) -> None:
        self._broker.configs.change_broker(self._name, changes, self._broker.topics.read, done)


class GroupTarget:
    """A group by its id; it need not be there yet."""

    def __init__(self, broker: Broker, group_id: str) -> None:
        if not group_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
        self._broker = broker
        self._group_id = group_id

    def present(self) -> Mapping[str, str]:
        return self._broker.configs.group(self._group_id)

    def in_force(self, name: str) -> str:
        return self.present().get(name, text_of(self._broker.settings[FOR_ALL + name]))

    def is_list(self, name: str) -> bool:
        return name in GROUP_SETTINGS and GROUP_SETTINGS[name].kind == "list"

    def check(self, changes: Changes) -> None:
        check_group(changes, GROUP_SETTINGS)
        texts = {name: text for name, text in {**self.present(), **changes}.items() if text is not None}
        settings = self._broker.settings
        try:
            check_times(times_of(texts, settings), settings)
        except BadSetting as problem:
            raise KafkaError(ErrorCode.INVALID_CONFIG, str(problem)) from None

    def apply(self, changes: Changes, done: Done) -> None:
        self._broker.configs.change_group(self._group_id, changes, self._broker.topics.read, done)


_TARGETS: dict[int, Callable[[Broker, str], Target]] = {
    Resource.TOPIC: TopicTarget,
    Resource.BROKER: BrokerTarget,
    Resource.GROUP: GroupTarget,
}


def target_of(broker: Broker, kind: int, name: str) -> Target:
    """The resource that a request names. Raises KafkaError INVALID_REQUEST, INVALID_TOPIC_EXCEPTION."""
    make = _TARGETS.get(kind)
    if make is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")
    return make(broker, name)


def alter(broker: Broker, target: Target, decide: Decide, done: Done, *, validate_only: bool) -> None:
    """Decide about a change in its turn, and make it unless it is only to be checked."""

    def work(finished: Done) -> None:
        changes = decide(target)
        target.check(changes)
        if validate_only:
            finished(None)
        else:
            target.apply(changes, finished)

    broker.configs.take_turn(work, done)
