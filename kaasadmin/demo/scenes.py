"""The scenes: who is in each group and what happens to it, over and over until the demo ends.

Rules: a scene is a thread that starts and stops members; it ends when it is told to, and leaves no member behind.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from kaasadmin.demo.member import Member, Role
from kaasadmin.demo.traffic import Topic

TOPICS = [
    Topic(name="orders", partitions=12, per_second=40),
    Topic(name="payments", partitions=6, per_second=15),
    Topic(name="refunds", partitions=3, per_second=2),
    Topic(name="products", partitions=8, per_second=10),
    Topic(name="mail", partitions=4, per_second=3),
    Topic(name="events", partitions=6, per_second=20, backlog=60_000),
    Topic(name="audit", partitions=2, per_second=0),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What a scene gets to play with."""

    bootstrap: str
    dice: random.Random
    ending: threading.Event

    def wait(self, seconds: float) -> bool:
        """Whether the demo goes on."""
        return not self.ending.wait(seconds)


def members(stage: Stage, count: int, name: str, **role: Any) -> list[Member]:
    return [Member(stage.bootstrap, Role(client_id=f"{name}-{n + 1}", **role)) for n in range(count)]


def stop_all(running: list[Member]) -> None:
    for member in running:
        member.ask_to_stop()
    for member in running:
        member.stop()


def steady(stage: Stage) -> None:
    """Keeps up, and nothing ever happens."""
    running = members(stage, 3, "mailer", group="mail-sender", topics=("mail",))
    stage.ending.wait()
    stop_all(running)


def deployment(stage: Stage) -> None:
    """Every minute and a half each member is replaced by its next version, one after the other."""
    role: dict[str, Any] = {"group": "checkout-orders", "topics": ("orders",), "work_ms": 3.0}
    version, running = 1, members(stage, 4, "checkout-v1", **role)
    while stage.wait(90):
        version += 1
        for index in range(len(running)):
            if not stage.wait(5):
                break
            running[index].stop()
            running[index] = Member(stage.bootstrap, Role(client_id=f"checkout-v{version}-{index + 1}", **role))
    stop_all(running)


def flapping(stage: Stage) -> None:
    """One of three freezes for longer than its session, again and again."""
    group, topic, session_ms = "fraud-model-v7", "payments", 6_000
    running = members(stage, 2, "scorer", group=group, topics=(topic,), assignor="range", session_timeout_ms=session_ms)
    arguments = [stage.bootstrap, group, topic, "scorer-3", "--session-timeout-ms", str(session_ms)]
    frozen = subprocess.Popen([sys.executable, "-m", "kaasadmin.demo.member", *arguments], stdin=subprocess.PIPE)
    try:
        while stage.wait(15):
            os.kill(frozen.pid, signal.SIGSTOP)
            stage.wait(stage.dice.uniform(8, 11))
            os.kill(frozen.pid, signal.SIGCONT)
    finally:
        os.kill(frozen.pid, signal.SIGCONT)
        frozen.communicate()
        stop_all(running)


def poison(stage: Stage) -> None:
    """A record on one partition cannot be worked on; the others go on."""
    role: dict[str, Any] = {
        "group": "payments/eu settle é",
        "topics": ("payments", "refunds"),
        "poison": ("payments", 2),
    }
    running = members(stage, 2, "settle", **role)
    stage.ending.wait()
    stop_all(running)


def catching_up(stage: Stage) -> None:
    """Began far behind, and is a little faster than what comes in."""
    running = members(stage, 2, "indexer", group="búsqueda 🔎/índice", topics=("events", "products"), work_ms=8.0)
    stage.ending.wait()
    stop_all(running)


def idle(stage: Stage) -> None:
    """Members without work, one of them without a partition."""
    running = members(stage, 3, "auditor", group="audit-sink", topics=("audit",), assignor="roundrobin")
    stage.ending.wait()
    stop_all(running)


def static_restarts(stage: Stage) -> None:
    """Static members restart within their session: nothing is rebalanced."""
    role: dict[str, Any] = {"group": "pricing", "topics": ("products",), "session_timeout_ms": 20_000}
    running = [Member(stage.bootstrap, Role(client_id="pricing", instance_id=f"pricing-{n}", **role)) for n in range(3)]
    while stage.wait(40):
        index = stage.dice.randrange(3)
        running[index].stop()
        running[index] = Member(stage.bootstrap, Role(client_id="pricing", instance_id=f"pricing-{index}", **role))
    stop_all(running)


def scaling(stage: Stage) -> None:
    """A group under KIP-848 that reads by pattern grows and shrinks: members give partitions up one by one, nobody stops."""
    role: dict[str, Any] = {
        "group": "shipping",
        "protocol": "consumer",
        "topics": ("^(orders|refunds)$",),
        "work_ms": 2.0,
    }
    running = members(stage, 3, "shipper", **role)
    while stage.wait(30):
        running += [Member(stage.bootstrap, Role(client_id=f"shipper-{n}", **role)) for n in (4, 5)]
        if not stage.wait(30):
            break
        for _ in range(2):
            running.pop().stop()
    stop_all(running)


def migration(stage: Stage) -> None:
    """A classic group moves to KIP-848 member by member, and back. Assignors that keep data of their own in assignments, as the
    sticky ones do, could not be taken over."""
    role: dict[str, Any] = {"group": "invoicing", "topics": ("payments",), "assignor": "range"}
    running = members(stage, 3, "invoicer", **role)
    protocols = ["consumer", "classic"]
    while stage.wait(20):
        for index in range(len(running)):
            running[index].stop()
            running[index] = Member(
                stage.bootstrap, Role(client_id=f"invoicer-{index + 1}", protocol=protocols[0], **role)
            )
            if not stage.wait(15):
                break
        protocols.reverse()
    stop_all(running)


def simple(stage: Stage) -> None:
    """Offsets without members, as a batch job with assign() leaves them."""
    admin = AdminClient({"bootstrap.servers": stage.bootstrap, "log_level": 0})
    offsets = [TopicPartition("orders", partition, 10) for partition in range(12)]
    request = ConsumerGroupTopicPartitions("backfill-2026-11", offsets)
    admin.alter_consumer_group_offsets([request])["backfill-2026-11"].result(15)


SCENES: list[Callable[[Stage], None]] = [
    steady,
    deployment,
    flapping,
    poison,
    catching_up,
    idle,
    static_restarts,
    scaling,
    migration,
    simple,
]
