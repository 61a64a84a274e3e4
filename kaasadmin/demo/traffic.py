"""Records for the demo's topics: topics made once, then a stream at a steady pace with bursts."""

from __future__ import annotations

import json
import random
import threading
import time
from dataclasses import dataclass

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

TICK_S = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """`per_second`: records on average; `backlog`: records written at once before anybody reads."""

    name: str
    partitions: int
    per_second: float
    backlog: int = 0


def make_topics(bootstrap: str, topics: list[Topic]) -> None:
    """Create what is missing. Raises KafkaException when the broker refuses."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    there = admin.list_topics(timeout=15).topics
    missing = [NewTopic(t.name, t.partitions, 1) for t in topics if t.name not in there]
    for future in admin.create_topics(missing).values() if missing else ():
        future.result(15)


class Traffic:
    """A thread that produces to all topics."""

    def __init__(self, bootstrap: str, topics: list[Topic], dice: random.Random) -> None:
        self._topics = topics
        self._dice = dice
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "linger.ms": 20, "compression.type": "lz4", "log_level": 0}
        )
        self._stopping = threading.Event()
        self._number = 0
        self._thread = threading.Thread(target=self._run, name="traffic", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join(10)
        self._producer.flush(5)

    def _run(self) -> None:
        for topic in self._topics:
            for _ in range(topic.backlog):
                self._produce(topic)
        debts = dict.fromkeys((t.name for t in self._topics), 0.0)
        while not self._stopping.wait(TICK_S):
            for topic in self._topics:
                burst = 4 if self._dice.random() < 0.05 else 1
                debts[topic.name] += topic.per_second * TICK_S * burst
                while debts[topic.name] >= 1:
                    debts[topic.name] -= 1
                    self._produce(topic)
            self._producer.poll(0)

    def _produce(self, topic: Topic) -> None:
        self._number += 1
        value = {"n": self._number, "at": time.time(), "amount": round(self._dice.uniform(1, 500), 2)}
        key = f"customer-{self._dice.randrange(500)}"
        while not self._stopping.is_set():
            try:
                self._producer.produce(topic.name, json.dumps(value).encode(), key.encode())
                return
            except (BufferError, KafkaException):  # full for the moment, or the broker is away
                self._producer.poll(0.1)
