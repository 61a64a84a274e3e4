"""Words for tests of transactions: producers come with their ids, add, stage offsets, end, and vanish.

    world = Transactions()
    pay = world.producer("pay").comes()
    pay.adds(("t", 0))
    pay.stages({("t", 0): 5})
    pay.ends()

A producer remembers the identity it was told. `transactions` is its protocol: 1 adds groups itself and keeps its epoch, 2
leaves both to the broker (KIP-890). Markers are written at once, unless the test holds them or names places that refuse them.
"""

from __future__ import annotations

import functools
import itertools
from collections import deque
from collections.abc import Mapping
from typing import Any

import msgspec

from kaas.broker.gathering import Gathering
from kaas.coordinator.effects import Effect, SendMarkers
from kaas.coordinator.events import EndStaged, Event, StageOffsets
from kaas.coordinator.offset_entry import OffsetKey
from kaas.coordinator.queries import fetch_offsets
from kaas.coordinator.transactions.events import (
    AddAnswer,
    AddToTransaction,
    EndTransaction,
    InitProducer,
    MarkersFailed,
    MarkersWritten,
    ProducerAnswer,
)
from kaas.coordinator.transactions.holder import Holder
from kaas.coordinator.transactions.state import LAST_EPOCH, NONE, Identity
from kaas.coordinator.transactions.states import TxnState
from kaas.errors import ErrorCode
from tests.support.groups import GROUP, Groups
from tests.support.invariants import check_staged
from tests.support.offsets import offset_rows
from tests.support.shell import Asked

Place = OffsetKey | str


class Transactions(Groups):
    """Groups, and the transactions that commit offsets to them. `held`: markers wait for `tells`; `refusing`: partitions and
    groups that take none; `marked`: partitions that were told, with producer id, epoch and whether that was a commit."""

    def __init__(self, **config: Any) -> None:
        self.held = False
        self.refusing: set[Place] = set()
        self.sent: deque[SendMarkers] = deque()
        self.marked: list[tuple[OffsetKey, int, int, bool]] = []
        self._fresh = itertools.count(100)
        super().__init__(**config)

    def producer(self, name: str = "pay", **about: Any) -> Producer:
        """Somebody who has not asked for the id yet."""
        return Producer(self, name, **about)

    def worn(self, epoch: int = LAST_EPOCH, **about: Any) -> Producer:
        """A producer whose epochs are used up."""
        producer = self.producer(**about).comes()
        holder = self.holder(producer.name)
        assert holder.durable is not None
        holder.decided = holder.durable = msgspec.structs.replace(holder.durable, epoch=epoch)
        self.journal.written.append((producer.name, holder.durable))
        producer.identity = holder.durable.identity
        return producer

    def fresh_id(self) -> int:
        return next(self._fresh)

    # What is seen

    def holder(self, name: str = "pay") -> Holder:
        return self.core.transactions[name]

    def txn_state(self, name: str = "pay") -> TxnState:
        return self.holder(name).decided.txn_state

    def staged(self, group_id: str = GROUP) -> frozenset[OffsetKey]:
        """Partitions that are not stable."""
        group = self.core.groups.get(group_id)
        return frozenset() if group is None else frozenset(group.holders)

    def unstable(self, *keys: OffsetKey, group_id: str = GROUP) -> frozenset[OffsetKey]:
        """What a reader who wants stable offsets is refused."""
        return fetch_offsets(self.core, group_id, list(keys), require_stable=True).unstable & set(keys)

    # Markers

    def _carry_out(self, effect: Effect) -> None:
        super()._carry_out(effect)
        if isinstance(effect, SendMarkers):
            self.sent.append(effect)
            if not self.held:
                self.tells()

    def tells(self) -> None:
        """The oldest markers that wait are written, save where they are refused."""
        effect = self.sent.popleft()
        places: list[Place] = [*effect.partitions, *effect.groups]
        gathering: Gathering[Place, bool] = Gathering(places, functools.partial(self._told, effect))
        for place in places:
            put = functools.partial(gathering.put, place)
            if place in self.refusing:
                put(False)
            elif isinstance(place, str):
                self._end_staged(effect, place, put)
            else:
                self.marked.append((place, effect.producer_id, effect.epoch, effect.committed))
                put(True)

    def _end_staged(self, effect: SendMarkers, group_id: str, put: Any) -> None:
        asked = Asked(learn=lambda code: put(code is ErrorCode.NONE))
        event = EndStaged(reply_to=asked, group_id=group_id, producer_id=effect.producer_id, committed=effect.committed)
        self.follows(event)

    def _told(self, effect: SendMarkers, told: dict[Place, bool]) -> None:
        end: dict[str, Any] = {
            "transactional_id": effect.transactional_id,
            "producer_id": effect.producer_id,
            "epoch": effect.epoch,
        }
        untold = tuple(place for place, done in told.items() if not done)
        self.follows(MarkersFailed(**end, untold=untold) if untold else MarkersWritten(**end))

    def follows(self, event: Event) -> None:
        """An answer leads to this event, which is handled after the present one."""
        self._events.append(event)

    def lets_through(self) -> None:
        """Markers that were held are written, and so is everything that follows."""
        self.held = False
        while self.sent:
            self.tells()
            self._handle_events()
            if not self.journal.held:
                self.settle()

    def starts_loading(self) -> None:
        self.sent.clear()
        super().starts_loading()

    def settle(self) -> None:
        super().settle()
        check_staged(self.core)


class Producer:
    """One process with a transactional id. `identity` is what it was told, or what a test gives it."""

    def __init__(self, world: Transactions, name: str, *, transactions: int = 2, timeout_ms: int = 60_000) -> None:
        self.world = world
        self.name = name
        self.transactions = transactions
        self.timeout_ms = timeout_ms
        self.identity: Identity = (NONE, NONE)

    # InitProducerId

    def comes(self) -> Producer:
        """Get the id, which must go well."""
        assert self.asks().code == 0
        return self

    def asks(self, known: Identity = (NONE, NONE), **changes: Any) -> Asked:
        """Ask for the id, perhaps saying who one is."""
        about = {"timeout_ms": self.timeout_ms, "fresh_producer_id": self.world.fresh_id(), **changes}
        return self._ask(InitProducer, self._learn, producer_id=known[0], epoch=known[1], **about)

    def recovers(self) -> Asked:
        """Ask for the id, saying who one is (KIP-360)."""
        return self.asks(self.identity)

    def twin(self, identity: Identity | None = None) -> Producer:
        """Another process with the same name: a zombie with an identity of before, say."""
        other = Producer(self.world, self.name, transactions=self.transactions, timeout_ms=self.timeout_ms)
        other.identity = self.identity if identity is None else identity
        return other

    # AddPartitionsToTxn, AddOffsetsToTxn

    def adds(self, *partitions: OffsetKey, groups: tuple[str, ...] = (), verify_only: bool = False) -> Asked:
        return self._ask(
            AddToTransaction, None, **self._who(), partitions=partitions, groups=groups, verify_only=verify_only
        )

    # TxnOffsetCommit

    def begins_with(self, offsets: Mapping[OffsetKey, int], group_id: str = GROUP, **who: Any) -> Asked:
        """Add the group where the protocol asks for that, and stage offsets."""
        if self.transactions == 1:
            assert self.adds(groups=(group_id,)).code == 0
        return self.stages(offsets, group_id, **who)

    def stages(self, offsets: Mapping[OffsetKey, int], group_id: str = GROUP, **who: Any) -> Asked:
        """Ask whether the group is in the transaction, or have it added, then stage; the first refusal is the answer."""
        asked = Asked()

        def spoken(answer: AddAnswer) -> None:
            if answer.code or answer.missing:
                asked.reply(AddAnswer(answer.code or ErrorCode.INVALID_TXN_STATE))
            else:
                self.world.follows(self._stage_event(asked, offsets, group_id, who))

        first = Asked(learn=spoken)
        self.world.submit(
            AddToTransaction(
                reply_to=first,
                transactional_id=self.name,
                **self._who(),
                groups=(group_id,),
                verify_only=self.transactions == 1,
            )
        )
        return asked

    def _stage_event(
        self, asked: Asked, offsets: Mapping[OffsetKey, int], group_id: str, who: Mapping[str, Any]
    ) -> StageOffsets:
        told = {"generation": -1, "member_id": "", "instance_id": None, **who}
        rows = offset_rows(offsets, at=self.world.wall_ms, metadata=told.pop("metadata", ""))
        return StageOffsets(reply_to=asked, group_id=group_id, **self._who(), rows=rows, **told)

    # EndTxn

    def ends(self, *, committed: bool = True, **changes: Any) -> Asked:
        about = {"bumps_epoch": self.transactions == 2, "fresh_producer_id": self.world.fresh_id(), **changes}
        return self._ask(EndTransaction, self._learn, **self._who(), committed=committed, **about)

    def aborts(self, **changes: Any) -> Asked:
        return self.ends(committed=False, **changes)

    def _who(self) -> dict[str, int]:
        return {"producer_id": self.identity[0], "epoch": self.identity[1]}

    def _ask(self, event: type, learn: Any, **fields: Any) -> Asked:
        asked = Asked(learn=learn)
        about = {"transactional_id": self.name, "fenced_code": ErrorCode.PRODUCER_FENCED, **fields}
        self.world.submit(event(reply_to=asked, **about))
        return asked

    def _learn(self, answer: ProducerAnswer) -> None:
        if not answer.code:
            self.identity = answer.producer_id, answer.epoch
