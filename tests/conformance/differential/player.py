"""Plays a sequence to two brokers side by side, and says where they differ.

After each step both brokers have answered it or both have parked it, every request that was parked before is answered by both
or by neither, and both describe the group alike. One that is behind gets time to catch up before that counts as a difference.
The next step waits for a join phase that ends by itself (see `Twins._ends_by_itself`): else it would race with a timer of the
broker, and which of both wins is chance.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from kaas.consumer.connection import Connection, Disconnected
from kaas.wire.apis import METADATA
from tests.conformance.differential.consumer_requests import ConsumerTranslator
from tests.conformance.differential.consumer_steps import DESCRIBE as DESCRIBE_CONSUMERS
from tests.conformance.differential.consumer_steps import ConsumerScript
from tests.conformance.differential.excuses import excuse, pinned
from tests.conformance.differential.requests import READS, Client, Translator
from tests.conformance.differential.steps import CLIENTS, Script, Step

GLANCE_S = 0.03
"""A Join or Sync that neither broker has answered by then counts as parked."""
MAY_PARK = frozenset({"join", "sync"})
CATCH_UP_S = 15.0
"""How long one side may be behind the other: a JVM that has just started, on a machine that does other things as well."""
LONG_RUN = re.compile(r"(x{20})x+")
PARKED, CLOSED = "parked", "closed the connection"
EMPTY, DEAD, JOINING = "Empty", "Dead", "PreparingRebalance"


Topics = dict[UUID, str]
"""Names by the ids that a broker gave them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of sequences: how one is made of a seed, how it is told to a broker, and how an operator looks at the group."""

    script: Callable[[int], Script | ConsumerScript]
    translator: Callable[[str, Topics], Translator]
    describe: Step


CLASSIC = Kind(
    script=Script,
    translator=lambda group, topics: Translator(group, [Client() for _ in range(CLIENTS)]),
    describe=Step(what="describe", client=0, version=5),
)
CONSUMERS = Kind(
    script=ConsumerScript,
    translator=ConsumerTranslator,
    describe=Step(what=DESCRIBE_CONSUMERS, client=0, version=1),
)


@dataclass(slots=True)
class Asked:
    """A request that may still be parked."""

    step: Step
    task: asyncio.Task[Any]

    def outcome(self, translator: Translator) -> Any:
        if not self.task.done():
            return PARKED
        try:
            return translator.told(self.step, self.task.result())
        except Disconnected:
            return CLOSED


class Side:
    """One broker: a connection for each client, another for what is asked while that one is parked."""

    def __init__(self, address: str, kind: Kind) -> None:
        host, _, port = address.rpartition(":")
        self._address = host, int(port)
        self._kind = kind
        self._links: dict[Any, Connection] = {}
        self._topics: Topics = {}
        self.translator = Translator("", [])

    async def begin(self, group: str) -> None:
        if not self._topics:
            link = await self._link("operator")
            answer = await link.call(METADATA.key, {"topics": None}, version=12)
            self._topics = {topic.topic_id: topic.name for topic in answer.topics}
        self.translator = self._kind.translator(group, self._topics)

    async def _link(self, name: Any) -> Connection:
        link = self._links.get(name)
        if link is None or not link.usable:
            link = self._links[name] = await Connection.open(*self._address, client_id="twin", timeout_s=600)
        return link

    async def ask(self, step: Step, aside: bool) -> Asked:
        link = await self._link(("aside" if aside else "client", step.client))
        return Asked(step, asyncio.ensure_future(self._call(link, step)))

    async def _call(self, link: Connection, step: Step) -> Any:
        deadline = time.monotonic() + CATCH_UP_S
        values = self.translator.values(step)
        while True:
            answer = await link.call(self.translator.apis[step.what].key, values, version=step.version)
            if not self.translator.is_busy(step, answer) or time.monotonic() > deadline:
                return answer
            await asyncio.sleep(0.01)

    async def described(self) -> Any:
        """The group as an operator sees it."""
        link, step = await self._link("operator"), self._kind.describe
        api = self.translator.apis[step.what]
        answer = await link.call(api.key, self.translator.values(step), version=step.version)
        return self.translator.told(step, answer)

    async def end(self, parked: list[Asked]) -> None:
        """Connections on which something is parked cannot be used again."""
        for asked in parked:
            asked.task.cancel()
            for kind in ("client", "aside"):
                link = self._links.pop((kind, asked.step.client), None)
                if link is not None:
                    await link.close()

    async def close(self) -> None:
        for link in self._links.values():
            await link.close()


@dataclass(slots=True)
class Difference:
    """What two brokers did not do alike."""

    seed: int
    at: int
    step: Step
    what: str
    first: Any
    second: Any
    before: list[Step] = field(default_factory=list)

    def __str__(self) -> str:
        steps = "\n".join(f"    {n:2} {step}" for n, step in enumerate(self.before))
        said = f"  one:   {short(self.first)}\n  other: {short(self.second)}"
        return f"seed {self.seed}, step {self.at}, {self.what}\n{steps}\n{said}"


def short(value: Any) -> str:
    """Without the middle of long texts."""
    return LONG_RUN.sub(r"\1…", str(value))


class Twins:
    """Two brokers. `excused` counts sequences that ended early, because from there on both may rightly differ.

    `patience` stretches the glance at a request: the more, the surer is what counts as parked.
    """

    def __init__(self, one: str, other: str, kind: Kind, patience: float = 1.0) -> None:
        self.sides = Side(one, kind), Side(other, kind)
        self._kind = kind
        self._glance_s = GLANCE_S * patience
        self.steps = 0
        self.excused: dict[str, int] = {}
        self._parked: list[tuple[Asked, Asked]] = []
        self._state = ""

    async def play(self, seed: int, group: str) -> Difference | None:
        """One sequence; the first difference that nothing excuses."""
        script = self._kind.script(seed)
        for side in self.sides:
            await side.begin(group)
        self._parked, self._state = [], DEAD
        try:
            for at, step in enumerate(script.steps):
                found = await self._step(step)
                if found is None:
                    continue
                reason = excuse(step, *found)
                if reason is None:
                    return Difference(seed, at, step, *found, before=script.steps[: at + 1])
                self.excused[reason] = self.excused.get(reason, 0) + 1
                return None
            return None
        finally:
            for index, side in enumerate(self.sides):
                await side.end([pair[index] for pair in self._parked])

    async def _step(self, step: Step) -> tuple[str, Any, Any] | None:
        """What differed: what it was, and what either side said."""
        self.steps += 1
        busy = any(pair[0].step.client == step.client for pair in self._parked)
        if busy and step.what in MAY_PARK:
            return None
        if step.what in READS:
            return await self._read(step, aside=busy) or await self._alike()
        pair = await asyncio.gather(*(side.ask(step, aside=busy) for side in self.sides))
        self._parked.append((pair[0], pair[1]))
        most_s = self._glance_s if step.what in MAY_PARK else CATCH_UP_S
        await asyncio.wait([asked.task for asked in pair], timeout=most_s)
        return await self._settled() or await self._alike()

    async def _read(self, step: Step, aside: bool) -> tuple[str, Any, Any] | None:
        """Both answer a question alike, if need be after a while."""
        deadline = time.monotonic() + CATCH_UP_S
        while True:
            pair = await asyncio.gather(*(side.ask(step, aside) for side in self.sides))
            await asyncio.gather(*(asked.task for asked in pair), return_exceptions=True)
            first, second = (a.outcome(s.translator) for a, s in zip(pair, self.sides, strict=True))
            if first == second:
                return None
            if time.monotonic() > deadline:
                return f"the answer to {step}", first, second
            await asyncio.sleep(0.02)

    async def _settled(self) -> tuple[str, Any, Any] | None:
        """Every request is answered alike by both, or parked by both."""
        for pair in list(self._parked):
            tasks = [asked.task for asked in pair]
            if any(task.done() for task in tasks):
                await asyncio.wait(tasks, timeout=CATCH_UP_S)
                first, second = (a.outcome(s.translator) for a, s in zip(pair, self.sides, strict=True))
                if first != second:
                    return f"the answer to {pair[0].step}", first, second
                self._parked.remove(pair)
                self._learn(pair)
        return None

    def _learn(self, pair: tuple[Asked, Asked]) -> None:
        for asked, side in zip(pair, self.sides, strict=True):
            if asked.task.exception() is None:
                side.translator.learn(asked.step, asked.task.result())

    async def _alike(self) -> tuple[str, Any, Any] | None:
        """Both describe the group alike, if need be after a while."""
        deadline = time.monotonic() + CATCH_UP_S
        while True:
            first, second = await asyncio.gather(*(side.described() for side in self.sides))
            late = time.monotonic() > deadline
            if pinned(first) == pinned(second) and (late or not self._ends_by_itself(first["group_state"])):
                self._state = first["group_state"]
                return await self._settled()
            if late:
                return "the description", first, second
            await asyncio.sleep(0.02)

    def _ends_by_itself(self, state: str) -> bool:
        """The first join phase of a group without members lasts `group.initial.rebalance.delay.ms`, here nothing at all."""
        return state == JOINING and self._state in (EMPTY, DEAD)

    async def close(self) -> None:
        for side in self.sides:
            await side.close()
