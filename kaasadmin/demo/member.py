"""One consumer that lives like a service: it polls, works on each record, commits, and can be told to stop.

As a program (`python -m kaasadmin.demo.member GROUP TOPIC …`) it is a process of its own, which the demo can freeze.
"""

from __future__ import annotations

import argparse
import contextlib
import threading
import time
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

POLL_S = 0.2
COMMIT_EVERY_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """How a member behaves. `work_ms`: time for one record. `poison`: (topic, partition) on whose next record it fails again
    and again, so that it never gets past it. `protocol`: classic or consumer (KIP-848), where the broker chooses assignor and
    session timeout. A topic that begins with ^ is a pattern."""

    group: str
    protocol: str = "classic"
    topics: tuple[str, ...]
    client_id: str
    instance_id: str | None = None
    assignor: str = "cooperative-sticky"
    work_ms: float = 1.0
    session_timeout_ms: int = 10_000
    poison: tuple[str, int] | None = None


class Member:
    """A running consumer in a thread of its own."""

    def __init__(self, bootstrap: str, role: Role) -> None:
        self.role = role
        self._bootstrap = bootstrap
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=role.client_id, daemon=True)
        self._thread.start()

    def stop(self, within_s: float = 15.0) -> None:
        """Leave the group in order and end."""
        self._stopping.set()
        self._thread.join(within_s)

    def ask_to_stop(self) -> None:
        self._stopping.set()

    def _run(self) -> None:
        consumer = Consumer(settings_of(self._bootstrap, self.role))
        consumer.subscribe(list(self.role.topics))
        try:
            self._consume(consumer)
        finally:
            consumer.close()

    def _consume(self, consumer: Consumer) -> None:
        committed_at = time.monotonic()
        dirty = False
        while not self._stopping.is_set():
            message = consumer.poll(POLL_S)
            if message is not None and message.error() is None:
                if (message.topic(), message.partition()) == self.role.poison:
                    self._stumble(consumer, message.topic(), message.partition(), message.offset())
                else:
                    self._stopping.wait(self.role.work_ms / 1_000)
                    dirty = True
            if dirty and time.monotonic() - committed_at > COMMIT_EVERY_S:
                with contextlib.suppress(KafkaException):  # a rebalance is under way: commit at the next turn
                    consumer.commit(asynchronous=False)
                committed_at, dirty = time.monotonic(), False
        if dirty:
            with contextlib.suppress(KafkaException):
                consumer.commit(asynchronous=False)

    def _stumble(self, consumer: Consumer, topic: str, partition: int, offset: int) -> None:
        """Fail on a record: go back to it and try again in a while."""
        self._stopping.wait(0.5)
        with contextlib.suppress(KafkaException):
            consumer.seek(TopicPartition(topic, partition, offset))


def settings_of(bootstrap: str, role: Role) -> dict[str, Any]:
    """The client's settings. What the broker decides under KIP-848 may not be set there."""
    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "group.id": role.group,
        "group.protocol": role.protocol,
        "client.id": role.client_id,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "log_level": 0,
    }
    if role.protocol == "classic":
        settings["session.timeout.ms"] = role.session_timeout_ms
        settings["heartbeat.interval.ms"] = max(role.session_timeout_ms // 5, 500)
        settings["partition.assignment.strategy"] = role.assignor
    if role.instance_id is not None:
        settings["group.instance.id"] = role.instance_id
    return settings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bootstrap")
    parser.add_argument("group")
    parser.add_argument("topic")
    parser.add_argument("client_id")
    parser.add_argument("--session-timeout-ms", type=int, default=10_000)
    options = parser.parse_args()
    role = Role(
        group=options.group,
        topics=(options.topic,),
        client_id=options.client_id,
        assignor="range",
        session_timeout_ms=options.session_timeout_ms,
    )
    member = Member(options.bootstrap, role)
    with contextlib.suppress(EOFError):  # the demo closes our standard input when it ends
        while input():
            pass
    member.stop()


if __name__ == "__main__":
    main()
