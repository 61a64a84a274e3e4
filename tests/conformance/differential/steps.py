"""Sequences of requests, legal and illegal, of a few clients of one group; made from a seed alone.

A step names things by their part in the sequence, not by value: "the id that client 2 was given", "a generation one above its
own". So the same sequence can be played to two brokers that give different ids.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from kaas.wire.consumer_protocol import Subscription, encode_subscription

CLIENTS = 4
TOPIC, OTHER_TOPIC, NO_TOPIC = "differential", "differential-2", "differential-no-such-topic"
PARTITIONS = 3
SESSION_MS = REBALANCE_MS = 120_000
"""No timer runs out within a sequence."""

OWN, NOBODY, STRANGER = "own", "nobody", "stranger"
"""Whose member id: the client's own, none, or one that nobody was ever given. A number is another client's."""
Whose = str | int


def subscription(*topics: str) -> bytes:
    return encode_subscription(Subscription(version=1, topics=topics))


READS, READS_BOTH = subscription(TOPIC), subscription(TOPIC, OTHER_TOPIC)
METADATA = ("", "note", None, "x" * 4096)
PROTOCOLS = (
    (("range", READS),),
    (("range", READS_BOTH),),
    (("range", READS), ("sticky", READS)),
    (("sticky", READS),),
    (),
)
"""Metadata can be read: Apache Kafka hangs a group of type "consumer" over some that cannot."""


def brief(value: Any, most: int = 70) -> str:
    text = repr(value)
    return text if len(text) <= most else text[:most] + "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request of one client. `who` and `generation` (a distance from the client's own) stand for values."""

    what: str
    client: int
    version: int
    who: Whose = OWN
    generation: int = 0
    instance: str | None = None
    more: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        told = {"who": self.who, "generation": self.generation, "instance": self.instance, **self.more}
        shown = " ".join(f"{name}={brief(value)}" for name, value in told.items())
        return f"{self.what} v{self.version} by client {self.client}: {shown}"


class Script:
    """One sequence. Clients 2 and 3 are static in about half of all sequences."""

    def __init__(self, seed: int, length: int = 24) -> None:
        self._dice = random.Random(seed)
        self._instances = [None, None, *(self._dice.choice((None, f"i{n}")) for n in range(2, CLIENTS))]
        self._plain = PROTOCOLS[self._dice.choice((0, 0, 2))]
        self.steps: list[Step] = []
        while len(self.steps) < length:
            self._grow()

    def _grow(self) -> None:
        dice = self._dice
        what = dice.random()
        if what < 0.2:
            self._settle()
        elif what < 0.25:
            self._transaction()
        elif what < 0.42:
            self.steps.append(self._join(dice.randrange(CLIENTS)))
        else:
            makers = (self._sync, self._sync, self._beat, self._leave, self._commit, self._commit, self._fetch)
            makers += (self._describe, self._delete_offsets, self._delete_group, self._list)
            makers += (self._enroll, self._stage, self._end)
            self.steps.append(dice.choice(makers)(dice.randrange(CLIENTS)))

    def _settle(self) -> None:
        """What a group of well-behaved clients does until it is Stable."""
        clients = sorted(self._dice.sample(range(CLIENTS), self._dice.randint(1, 3)))
        version = self._dice.randint(0, 9)
        for client in (*clients, *clients):
            self.steps.append(self._proper("join", client, version, protocols=self._plain))
        for client in clients:
            self.steps.append(self._proper("sync", client, min(version, 5), assigned=CLIENTS))

    def _transaction(self) -> None:
        """What a well-behaved producer does, now and then without an end."""
        client = self._dice.randrange(CLIENTS)
        self.steps.append(Step(what="init", client=client, version=self._dice.randint(0, 4)))
        self.steps.append(Step(what="add group", client=client, version=self._dice.randint(0, 3)))
        self.steps.append(self._stage(client))
        self.steps.append(self._fetch(client))
        if self._dice.random() < 0.7:
            self.steps.append(self._end(client))

    def _proper(self, what: str, client: int, version: int, **more: Any) -> Step:
        return Step(what=what, client=client, version=version, instance=self._instances[client], more=more)

    # Whose, which

    def _who(self, client: int) -> Whose:
        return self._dice.choice((OWN,) * 8 + (NOBODY, STRANGER, self._dice.randrange(CLIENTS)))

    def _generation(self) -> int:
        return self._dice.choice((0,) * 8 + (1, -1))

    def _instance(self, client: int) -> str | None:
        return self._dice.choice((self._instances[client],) * 8 + (None, "i2", "i9"))

    def _identity(self, client: int) -> dict[str, Any]:
        return {
            "who": self._who(client),
            "generation": self._generation(),
            "instance": self._instance(client),
        }

    # Requests

    def _join(self, client: int) -> Step:
        dice = self._dice
        more = {
            "protocols": dice.choice((self._plain,) * 4 + PROTOCOLS),
            "protocol_type": dice.choice(("consumer",) * 12 + ("connect", "")),
            "session": dice.choice((SESSION_MS,) * 12 + (1, 1_800_001)),
        }
        identity = {**self._identity(client), "generation": 0}
        return Step(what="join", client=client, version=dice.randint(0, 9), **identity, more=more)

    def _sync(self, client: int) -> Step:
        dice = self._dice
        more = {
            "assigned": dice.choice((CLIENTS, CLIENTS, 2, 0)),
            "protocol_type": dice.choice(("consumer",) * 8 + ("connect", None)),
            "protocol_name": dice.choice((OWN,) * 8 + ("sticky", None)),
        }
        return Step(what="sync", client=client, version=dice.randint(0, 5), **self._identity(client), more=more)

    def _beat(self, client: int) -> Step:
        return Step(what="heartbeat", client=client, version=self._dice.randint(0, 4), **self._identity(client))

    def _leave(self, client: int) -> Step:
        dice = self._dice
        others = [
            (dice.choice((OWN, NOBODY, STRANGER)), dice.choice((None, None, "i2", "i3", "i9")))
            for _ in range(dice.choice((0, 0, 0, 1, 2)))
        ]
        identity = {**self._identity(client), "generation": 0}
        return Step(what="leave", client=client, version=dice.randint(0, 5), **identity, more={"others": others})

    def _commit(self, client: int) -> Step:
        dice = self._dice
        identity = self._identity(client)
        if dice.random() < 0.25:
            identity = {"who": NOBODY, "generation": dice.choice((-100, -100, 0)), "instance": None}
        rows = []
        for topic in dice.sample((TOPIC, TOPIC, OTHER_TOPIC, NO_TOPIC), dice.randint(1, 2)):
            partition = dice.choice((0, 1, 2, 0, 1, 2, 7, -1))
            rows.append((topic, partition, dice.choice((0, 5, 77, -1)), dice.choice((-1, 3)), dice.choice(METADATA)))
        if (
            dice.random() < 0.1
        ):  # beside a good row: a commit of bad ones alone leaves a group in Apache that nobody sees
            rows = [(TOPIC, 0, 7, -1, ""), (OTHER_TOPIC, 1, 7, -1, "x" * 4097)]
        return Step(what="commit", client=client, version=dice.randint(2, 9), **identity, more={"rows": rows})

    def _fetch(self, client: int) -> Step:
        dice = self._dice
        asked = None if dice.random() < 0.4 else [(TOPIC, (0, 1, 2)), (dice.choice((OTHER_TOPIC, NO_TOPIC)), (0,))]
        version = dice.randint(1, 9)
        if asked is None and version < 2:
            version = 2
        return Step(what="fetch", client=client, version=version, more={"asked": asked, "stable": dice.random() < 0.5})

    def _enroll(self, client: int) -> Step:
        what = self._dice.choice(("init", "add group", "add group"))
        return Step(what=what, client=client, version=self._dice.randint(0, 3))

    def _stage(self, client: int) -> Step:
        dice = self._dice
        identity = self._identity(client)
        if dice.random() < 0.6:
            identity = {"who": NOBODY, "generation": -100, "instance": None}
        rows = [(TOPIC, partition, dice.choice((3, 9)), -1, "staged") for partition in dice.sample((0, 1, 2, 7), 2)]
        more = {"rows": rows, "epoch": dice.choice((0,) * 8 + (1, -1))}
        return Step(what="stage", client=client, version=dice.randint(0, 3), **identity, more=more)

    def _end(self, client: int) -> Step:
        return Step(
            what="end", client=client, version=self._dice.randint(0, 3), more={"commits": self._dice.random() < 0.6}
        )

    def _describe(self, client: int) -> Step:
        return Step(what="describe", client=client, version=self._dice.randint(0, 6))

    def _list(self, client: int) -> Step:
        filters = self._dice.choice(({}, {"states_filter": ["stable", "Empty"]}, {"types_filter": ["classic"]}))
        return Step(what="list", client=client, version=self._dice.randint(0, 5), more=dict(filters))

    def _delete_offsets(self, client: int) -> Step:
        dice = self._dice
        rows = [
            (dice.choice((TOPIC, OTHER_TOPIC, NO_TOPIC)), dice.choice((0, 1, 9))) for _ in range(dice.randint(1, 2))
        ]
        return Step(what="delete offsets", client=client, version=0, more={"rows": rows})

    def _delete_group(self, client: int) -> Step:
        return Step(what="delete group", client=client, version=self._dice.randint(0, 2))
