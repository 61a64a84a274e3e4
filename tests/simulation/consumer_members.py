"""Model clients of KIP-848: members of consumer groups that behave like real ones, good and bad.

A member says at first all that it wants, then that it lives; it gives up at once what is no longer assigned to it, says so with
its next heartbeat, and says everything anew when it does not know whether it was heard. It may fall silent, leave, or be
restarted under its instance id.
"""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass, field
from typing import Any

from kaas.coordinator.answers import ConsumerHeartbeatAnswer
from kaas.coordinator.events import Commit, ConsumerHeartbeat
from kaas.coordinator.modern.group import AWAY, LEFT
from kaas.coordinator.topics import Partitions
from tests.simulation.calls import Call
from tests.simulation.lives import Lives
from tests.support.offsets import offset_rows

OUT, IN = "out", "in"
REJOIN = (25, 110)
"""The member has lost what it held, and joins again under its id."""
AGAIN = (14, 15, 16)
"""Not now."""
UNRELEASED = 111
"""Another member has the instance. It may be a former life of this one that will be missed soon, or another process."""
TRIES = 5
ASSIGNORS = (None, "uniform", "range")
PATTERNS = ("", "", "[tu]", "v.*", "nothing")
PATIENCE = 12


@dataclass(slots=True, kw_only=True)
class ConsumerMember:
    """`holds` is what it reads. `owes`: it has to say that again. `doubts`: it does not know whether it was heard."""

    lives: Lives
    name: str
    group_id: str
    member_id: str
    instance_id: str | None
    rebalance_timeout_ms: int
    topics: tuple[str, ...]
    pattern: str = ""
    assignor: str | None = None
    stage: str = OUT
    epoch: int = 0
    holds: Partitions = field(default_factory=dict)
    owes: bool = False
    doubts: bool = False
    tries: int = 0
    turn: int = 0
    patience: int = 0
    dead: bool = False

    def act(self, dice: random.Random) -> bool:
        """Do the next thing, if it does not wait for an answer."""
        if not self._is_free():
            return False
        if self.stage == OUT:
            self._join()
        else:
            self._live(dice)
        return True

    def act_calmly(self) -> None:
        """Join, or say that it lives."""
        if self._is_free():
            self._join() if self.stage == OUT else self._beat()

    def _is_free(self) -> bool:
        if self.dead:
            return False
        if self.patience:
            self.patience -= 1
            if self.patience:
                return False
            self._unheard()
        return True

    def _unheard(self) -> None:
        """The connection is closed; what comes on it is not heard."""
        self.turn += 1
        self.doubts = True

    def _ask(self, event: Any) -> None:
        self.turn += 1
        self.patience = PATIENCE
        hear = functools.partial(self._hear, self.turn, event)
        self.lives.send(Call(kind=type(event).__name__, group_id=self.group_id, hear=hear, event=event))

    def _hear(self, turn: int, event: Any, answer: Any) -> None:
        if turn != self.turn or self.dead:
            return
        self.patience = 0
        if answer is None:  # the connection broke
            self.doubts = True
        elif isinstance(event, ConsumerHeartbeat):
            self._told(event, answer)
        elif int(getattr(answer, "code", answer)) in REJOIN:
            self._beat()

    # Heartbeats

    def _say(self, **fields: Any) -> None:
        self._ask(
            ConsumerHeartbeat(
                reply_to=None,
                group_id=self.group_id,
                member_id=self.member_id,
                client_id=self.name,
                client_host="/10.0.0.1",
                **{"epoch": self.epoch, **fields},
            )
        )

    def _wants(self) -> dict[str, Any]:
        return {
            "rebalance_timeout_ms": self.rebalance_timeout_ms,
            "topics": self.topics,
            "regex": self.pattern,
            "assignor": self.assignor,
        }

    def _join(self) -> None:
        self.holds = {}
        self._say(epoch=0, instance_id=self.instance_id, owned={}, **self._wants())

    def _beat(self) -> None:
        if self.doubts:
            self._say(owned=dict(self.holds), **self._wants())
        elif self.owes:
            self._say(owned=dict(self.holds))
        else:
            self._say()

    def _change(self, **news: Any) -> None:
        """Say what is new, or everything, if an answer was lost: it may have told what to read, and is not told again."""
        if self.doubts:
            self._beat()
        else:
            self._say(**news)

    def _told(self, event: ConsumerHeartbeat, answer: ConsumerHeartbeatAnswer) -> None:
        code = int(answer.code)
        if code in REJOIN:
            self.stage, self.epoch, self.holds = OUT, 0, {}
        elif code in AGAIN:
            self.doubts = True
        elif code == UNRELEASED and self.tries < TRIES:
            self.tries += 1
        elif code:
            self.dead = True
        else:
            self._taken(event, answer)

    def _taken(self, event: ConsumerHeartbeat, answer: ConsumerHeartbeatAnswer) -> None:
        self.stage, self.epoch = IN, answer.epoch
        self.doubts = self.doubts and not self._is_sure_after(event, answer)
        self.owes = answer.assignment is not None
        if answer.assignment is not None:
            self.holds = answer.assignment

    @staticmethod
    def _is_sure_after(event: ConsumerHeartbeat, answer: ConsumerHeartbeatAnswer) -> bool:
        """Whoever says everything is told what to read. (Whoever guesses a right epoch is not.)"""
        return event.rebalance_timeout_ms != -1 or answer.assignment is not None

    # Life

    def _live(self, dice: random.Random) -> None:
        chance = dice.random()
        if chance < 0.70:
            self._beat()
        elif chance < 0.85:
            self._commit(dice)
        elif chance < 0.90:
            self.topics = tuple(sorted(dice.sample(sorted(self.lives.topics), dice.randint(0, 2))))
            self._change(topics=self.topics)
        elif chance < 0.93:
            self.pattern = dice.choice(PATTERNS)
            self._change(regex=self.pattern)
        elif chance < 0.95:
            self.assignor = dice.choice(ASSIGNORS[1:])
            self._change(assignor=self.assignor)
        elif chance < 0.97:
            self._say(epoch=max(self.epoch + dice.choice((-1, 1)), 1), owned=dict(self.holds))
        else:
            self._go(LEFT if self.instance_id is None or dice.random() < 0.3 else AWAY)

    def _commit(self, dice: random.Random) -> None:
        topic, partition = dice.choice(sorted(self.lives.topics)), dice.randrange(3)
        rows = offset_rows({(topic, partition): dice.randrange(1_000)}, at=self.lives.clock.wall_ms)
        who = {"generation": self.epoch, "member_id": self.member_id, "instance_id": self.instance_id}
        self._ask(Commit(reply_to=None, group_id=self.group_id, rows=rows, modern=True, **who))

    def _go(self, epoch: int) -> None:
        self._say(epoch=epoch, instance_id=self.instance_id)
        self.dead = True

    # The process

    def restarted(self, dice: random.Random) -> ConsumerMember:
        """The process dies and starts anew under another id, perhaps while the old one still runs."""
        if not self.dead and dice.random() < 0.4:
            self._go(AWAY)
        self.dead = self.dead or dice.random() < 0.8
        return ConsumerMember(
            lives=self.lives,
            name=self.name,
            group_id=self.group_id,
            member_id=f"{dice.getrandbits(64):016x}",
            instance_id=self.instance_id,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            topics=self.topics,
            pattern=self.pattern,
            assignor=self.assignor,
        )
