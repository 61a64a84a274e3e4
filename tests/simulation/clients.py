"""Model clients: consumers that behave like real ones, good and bad.

A consumer joins, syncs, beats, commits, goes by what it is told, and loses patience when it is told nothing. It may never sync,
fall silent, or be restarted under its instance id. As leader it assigns honestly: each partition of a topic to one of those who
subscribe to it.
"""

from __future__ import annotations

import functools
import random
from dataclasses import dataclass, field
from typing import Any

from kaas.coordinator.answers import JoinAnswer, SyncAnswer
from kaas.coordinator.events import Commit, Heartbeat, Join, Leave, Leaving, Sync
from kaas.wire.consumer_protocol import (
    Assignment,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from tests.simulation.calls import Call
from tests.simulation.lives import Lives
from tests.support.offsets import offset_rows

RETRY = (14, 15, 16)
OUT, JOINING, JOINED, SYNCING, STABLE = "out", "joining", "joined", "syncing", "stable"
STRATEGIES = (("range",), ("range", "sticky"), ("sticky", "range"), ("range", "cooperative"))


def topics_of(metadata: bytes) -> tuple[str, ...]:
    """What a member subscribes to; nothing that a leader can serve if it cannot be read."""
    try:
        return decode_subscription(metadata).topics
    except ValueError:
        return ()


@dataclass(slots=True, kw_only=True)
class Consumer:
    """`version` is that of JoinGroup. `syncs` and `beats` are false for those that fall silent half way."""

    lives: Lives
    name: str
    group_id: str
    version: int
    instance_id: str | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    topics: tuple[str, ...]
    strategies: tuple[str, ...]
    syncs: bool = True
    beats: bool = True
    stage: str = OUT
    member_id: str = ""
    generation: int = -1
    joined: JoinAnswer | None = None
    owned: dict[str, tuple[int, ...]] = field(default_factory=dict)
    turn: int = 0
    patience: int = 0
    dead: bool = False

    def act(self, dice: random.Random) -> bool:
        """Do the next thing, if it does not wait for an answer."""
        if self.dead:
            return False
        if self.patience:
            self.patience -= 1
            if self.patience:
                return False
            self.turn += 1  # the connection is closed; what comes on it is not heard
            self.stage = OUT if self.stage in (JOINING, SYNCING) else self.stage
        if self.stage == OUT:
            self._join(dice)
        elif self.stage == JOINED:
            self._sync_or_beat(dice)
        elif self.stage == STABLE:
            self._live(dice)
        return True

    def _ask(self, kind: type, **fields: Any) -> None:
        self.turn += 1
        turn = self.turn
        self.patience = 12
        event = kind(reply_to=None, group_id=self.group_id, **fields)
        hear = functools.partial(self._hear, turn, kind)
        self.lives.send(Call(kind=kind.__name__, group_id=self.group_id, hear=hear, event=event))

    def _hear(self, turn: int, kind: type, answer: Any) -> None:
        if turn != self.turn or self.dead:
            return
        self.patience = 0
        if answer is None:  # the connection broke
            self.stage = OUT if self.stage in (JOINING, SYNCING) else self.stage
        elif kind is Join:
            self._joined(answer)
        elif kind is Sync:
            self._synced(answer)
        elif kind in (Heartbeat, Commit):
            self._told(int(getattr(answer, "code", answer)))

    # JoinGroup

    def _join(self, dice: random.Random) -> None:
        self.stage = JOINING
        self.owned = {}
        metadata = self._metadata()
        self._ask(
            Join,
            member_id=self.member_id,
            instance_id=self.instance_id,
            client_id=self.name,
            client_host="/10.0.0.1",
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            protocol_type="consumer",
            protocols=tuple((name, metadata) for name in self.strategies),
            requires_known_id=self.version >= 4,
            can_skip_assignment=self.version >= 9,
            fresh_id=f"{dice.getrandbits(64):016x}",
        )

    def _metadata(self) -> bytes:
        subscription = Subscription(version=1, topics=self.topics, owned=self.owned)
        return encode_subscription(subscription)

    def _joined(self, answer: JoinAnswer) -> None:
        code = int(answer.code)
        if code == 79:
            self.member_id, self.stage = answer.member_id, OUT
        elif code == 0:
            self.member_id, self.generation, self.joined = answer.member_id, answer.generation, answer
            self.stage = JOINED
        else:
            self.stage = OUT
            self._refused(code)

    def _refused(self, code: int) -> None:
        """25 means a new id, 82 is final, and who is not let in gives up."""
        if code == 25:
            self.member_id = ""
        elif code in (23, 26, 81, 82):
            self.dead = True

    # SyncGroup

    def _sync_or_beat(self, dice: random.Random) -> None:
        chance = dice.random()
        if chance < 0.05:
            self._commit(dice)
        elif self.syncs or chance < 0.15:
            self._sync()
        else:
            self._beat()

    def _sync(self) -> None:
        assert self.joined is not None
        self.stage = SYNCING
        leads = self.joined.leader == self.member_id and not self.joined.skip_assignment
        named = {"protocol_type": None, "protocol_name": None}
        if self.version >= 7:
            named = {"protocol_type": "consumer", "protocol_name": self.joined.protocol_name}
        self._ask(
            Sync,
            generation=self.generation,
            member_id=self.member_id,
            instance_id=self.instance_id,
            assignments=self._assign() if leads else {},
            **named,
        )

    def _assign(self) -> dict[str, bytes]:
        """Each partition to one of those who subscribe to its topic; whoever gets none is left out."""
        assert self.joined is not None
        wants = {m.member_id: topics_of(m.metadata) for m in self.joined.members}
        shares: dict[str, dict[str, list[int]]] = {}
        for topic, count in self.lives.topics.items():
            takers = [member_id for member_id, topics in wants.items() if topic in topics]
            for partition in range(count if takers else 0):
                shares.setdefault(takers[partition % len(takers)], {}).setdefault(topic, []).append(partition)
        return {
            member_id: encode_assignment(
                Assignment(version=0, partitions={topic: tuple(rows) for topic, rows in share.items()})
            )
            for member_id, share in shares.items()
        }

    def _synced(self, answer: SyncAnswer) -> None:
        code = int(answer.code)
        if code:
            self.stage = OUT
            self._refused(code)
            return
        self.stage = STABLE
        self.owned = decode_assignment(answer.assignment).partitions

    # Heartbeat, OffsetCommit, LeaveGroup

    def _live(self, dice: random.Random) -> None:
        chance = dice.random()
        if chance < 0.60:
            if self.beats:
                self._beat()
        elif chance < 0.95:
            self._commit(dice)
        elif chance < 0.97:
            self.topics = tuple(sorted(dice.sample(sorted(self.lives.topics), dice.randint(1, 2))))
            self._join(dice)
        elif chance < 0.99:
            self._join(dice)
        else:
            self._leave()

    def _who(self) -> dict[str, Any]:
        return {"generation": self.generation, "member_id": self.member_id, "instance_id": self.instance_id}

    def _beat(self) -> None:
        self._ask(Heartbeat, **self._who())

    def _commit(self, dice: random.Random) -> None:
        owned = [(topic, partition) for topic, rows in self.owned.items() for partition in rows]
        topic, partition = dice.choice(owned) if owned else (dice.choice(sorted(self.lives.topics)), 0)
        metadata = "x" * 5_000 if dice.random() < 0.05 else ""
        offset = dice.randrange(1_000)
        retention_ms = dice.choice((None, None, None, 1_000, 3_600_000))
        rows = offset_rows(
            {(topic, partition): offset}, at=self.lives.clock.wall_ms, metadata=metadata, retention_ms=retention_ms
        )
        self._ask(Commit, rows=rows, modern=self.version >= 7, **self._who())

    def _leave(self) -> None:
        row = Leaving(member_id=self.member_id, instance_id=self.instance_id, reason="done")
        self._ask(Leave, members=(row,))
        self.dead = True

    def _told(self, code: int) -> None:
        if code in RETRY:
            return
        if code in (22, 25, 27, 82):
            self.stage = OUT
            self._refused(code)

    # The process

    def restarted(self, dice: random.Random) -> Consumer:
        """The process dies and starts anew, perhaps while the old one still runs."""
        self.dead = dice.random() < 0.8
        return Consumer(
            lives=self.lives,
            name=self.name,
            group_id=self.group_id,
            version=self.version,
            instance_id=self.instance_id,
            session_timeout_ms=dice.choice((6_000, 12_000)),
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            topics=self.topics,
            strategies=dice.choice((self.strategies, *STRATEGIES)),
        )
