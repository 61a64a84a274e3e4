"""Sequences of requests about one consumer group (KIP-848): members that behave, members that do not, and who looks on.

Member ids are chosen here and are the same at both brokers, because assignors go by their order: single letters, for which
that order is the same everywhere. What is assigned can be compared where the rule is exact, so a sequence keeps to one:
`uniform` with one topic, or `range` with several.
"""

from __future__ import annotations

import random
from typing import Any

from tests.conformance.differential.steps import NO_TOPIC, OTHER_TOPIC, PARTITIONS, REBALANCE_MS, TOPIC, Step

CLIENTS = 4
LETTERS = "ABCDEFGHIJKLMNO"
"""So many ids a sequence may use; more would not be in one order at both brokers."""

TOLD, LESS, MORE, NOTHING = "told", "less", "more", "nothing"
"""What a member says that it holds: what it was told, some of that, more than that, nothing at all."""

HEARTBEAT, DESCRIBE = "consumer_heartbeat", "consumer_describe"

RULES: tuple[tuple[str | None, tuple[tuple[str, ...], ...]], ...] = (
    (None, ((TOPIC,),)),
    ("uniform", ((TOPIC, NO_TOPIC),)),
    ("uniform", ((TOPIC,), (TOPIC,), ())),
    ("range", ((TOPIC,), (TOPIC, OTHER_TOPIC), (OTHER_TOPIC,), (TOPIC, NO_TOPIC), ())),
)
"""The assignor that all members prefer, and what each may subscribe to."""


class ConsumerScript:
    """One sequence. Clients 2 and 3 are static in about half of all sequences."""

    def __init__(self, seed: int, length: int = 28) -> None:
        self._dice = random.Random(seed)
        self._letters = iter(LETTERS)
        self._ids = [next(self._letters) for _ in range(CLIENTS)]
        self._instances = [None, None, *(self._dice.choice((None, f"i{n}")) for n in range(2, CLIENTS))]
        self._here: set[int] = set()
        self._assignor, self._subscriptions = self._dice.choice(RULES)
        self.steps: list[Step] = []
        if self._dice.random() < 0.9:
            self._settle()
        while len(self.steps) < length:
            self._grow()

    def _grow(self) -> None:
        dice, client = self._dice, self._dice.randrange(CLIENTS)
        what = dice.random()
        if what < 0.12:
            self._settle()
        elif what < 0.27:
            self.steps.append(self._join(client) if self._may_join(client) else self._ack(client))
        elif what < 0.55:
            self.steps.append(dice.choice((self._beat, self._ack, self._ack, self._full))(client))
        elif what < 0.70:
            self.steps.append(dice.choice((self._leave, self._odd_ack, self._resubscribe, self._odd_epoch))(client))
        elif what < 0.74:
            self.steps += self._restart(client)
        elif what < 0.80:
            self.steps.append(self._malformed(client))
        else:
            makers = (self._commit, self._commit, self._fetch, self._describe, self._list, self._remove)
            makers += (self._delete_offsets, self._delete_group)
            self.steps.append(dice.choice(makers)(client))

    def _settle(self) -> None:
        """Some members come, and everybody acknowledges until nothing changes."""
        clients = sorted(self._dice.sample(range(CLIENTS), self._dice.randint(1, 3)))
        self.steps += [self._join(client, proper=True) for client in clients if self._may_join(client)]
        for _ in range(2):
            self.steps += [self._ack(client, proper=True) for client in clients]

    def _may_join(self, client: int) -> bool:
        """A static member that joins twice is refused by Apache, so that happens now and then only."""
        return self._instances[client] is None or client not in self._here or self._dice.random() < 0.1

    # Heartbeats

    def _heartbeat(self, client: int, proper: bool = False, **more: Any) -> Step:
        """`proper`: the answer is heard and the member is who it is."""
        dice = self._dice
        id = self._ids[client] if proper or dice.random() < 0.95 else dice.choice((*self._ids, "Z"))
        instance = self._instances[client]
        if not proper and dice.random() < 0.05:
            instance = dice.choice((None, "i2", "i9"))
        lost = not proper and dice.random() < 0.1
        about = {"id": id, "lost": lost, **more}
        version = dice.choice((0, 1, 1, 1)) if about["id"] else 1  # in version 0 each broker would make up an id
        return Step(what=HEARTBEAT, client=client, version=version, instance=instance, more=about)

    def _wants(self) -> dict[str, Any]:
        return {"topics": self._dice.choice(self._subscriptions), "assignor": self._assignor}

    def _join(self, client: int, proper: bool = False) -> Step:
        self._here.add(client)
        return self._heartbeat(client, proper, epoch=0, timeout=REBALANCE_MS, owned=NOTHING, **self._wants())

    def _beat(self, client: int) -> Step:
        return self._heartbeat(client)

    def _ack(self, client: int, proper: bool = False) -> Step:
        return self._heartbeat(client, proper, owned=TOLD)

    def _full(self, client: int) -> Step:
        """What a member sends that does not know whether it was heard."""
        return self._heartbeat(client, owned=TOLD, timeout=REBALANCE_MS, **self._wants())

    def _odd_ack(self, client: int) -> Step:
        return self._heartbeat(client, owned=self._dice.choice((LESS, MORE, NOTHING)))

    def _odd_epoch(self, client: int) -> Step:
        step = self._heartbeat(client, owned=self._dice.choice((None, TOLD, NOTHING)))
        return Step(**{**fields(step), "generation": self._dice.choice((-1, -1, 1, -2))})

    def _resubscribe(self, client: int) -> Step:
        return self._heartbeat(client, **self._wants())

    def _leave(self, client: int) -> Step:
        self._here.discard(client)
        return self._heartbeat(client, epoch=self._dice.choice((-1, -1, -2)))

    def _restart(self, client: int) -> list[Step]:
        """A process goes, perhaps with a word, and another one comes in its place."""
        letter = next(self._letters, None)
        if letter is None:
            return []
        word = self._dice.choice((-1, -2, -2, None))
        steps = [] if word is None else [self._heartbeat(client, proper=True, epoch=word)]
        self._ids[client] = letter
        return [*steps, self._join(client, proper=True), self._ack(client, proper=True)]

    def _malformed(self, client: int) -> Step:
        dice = self._dice
        join = {"epoch": 0, "timeout": REBALANCE_MS, "owned": NOTHING, **self._wants()}
        faults: tuple[dict[str, Any], ...] = (
            {**join, "timeout": -1},
            {**join, "owned": None},
            {**join, "owned": MORE},
            {**join, "topics": None},
            {**join, "assignor": "no-such-assignor"},
            {**join, "regex": "("},
            {**join, "id": ""},
            {**join, "rack": ""},
            {"assignor": "no-such-assignor"},
            {"epoch": -3},
            {"id": ""},
            {"rack": ""},
            {"epoch": -2, "assignor": "no-such-assignor"},
        )
        return self._heartbeat(client, **dice.choice(faults))

    # Everything else

    def _who(self, client: int) -> dict[str, Any]:
        """A member as it is named elsewhere, or nobody."""
        dice = self._dice
        if dice.random() < 0.25:
            return {"id": "", "epoch": -1}
        return {"id": dice.choice((self._ids[client],) * 9 + ("Z",))}

    def _other(self, what: str, client: int, versions: tuple[int, int], **more: Any) -> Step:
        off = self._dice.choice((0,) * 8 + (1, -1))
        version = self._dice.randint(*versions)
        return Step(what=what, client=client, version=version, generation=off, more=more)

    def _commit(self, client: int) -> Step:
        dice = self._dice
        rows = [(TOPIC, dice.randrange(PARTITIONS), dice.choice((0, 5, 77)), -1, "")]
        return self._other("commit", client, (8, 9), rows=rows, **self._who(client))

    def _fetch(self, client: int) -> Step:
        asked = self._dice.choice((None, [(TOPIC, (0, 1, 2))]))
        who = self._who(client) if self._dice.random() < 0.5 else {}
        return self._other("fetch", client, (8, 9), asked=asked, stable=False, **who)

    def _describe(self, client: int) -> Step:
        what = self._dice.choice((DESCRIBE, "describe"))
        return self._other(what, client, (0, 1) if what == DESCRIBE else (0, 6))

    def _list(self, client: int) -> Step:
        filters = self._dice.choice(({}, {"states_filter": ["stable"]}, {"types_filter": ["Consumer"]}))
        return self._other("list", client, (4, 5), **filters)

    def _remove(self, client: int) -> Step:
        """An operator removes members."""
        dice = self._dice
        rows = [(dice.choice((*self._ids, "Z")), dice.choice((None, None, "i2"))) for _ in range(dice.randint(1, 2))]
        return self._other("leave", client, (3, 5), rows=rows)

    def _delete_offsets(self, client: int) -> Step:
        return self._other("delete offsets", client, (0, 0), rows=[(self._dice.choice((TOPIC, OTHER_TOPIC)), 0)])

    def _delete_group(self, client: int) -> Step:
        return self._other("delete group", client, (0, 2))


def fields(step: Step) -> dict[str, Any]:
    """A step as what it is made of."""
    return {name: getattr(step, name) for name in Step.__slots__}
