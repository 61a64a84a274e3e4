"""Any history of a group with members of both protocols: what clients hold never overlaps, and a restart loses nothing.

Clients are honest: they stop reading what they are told to give up, and when they are told that they are not in the group. The
shell checks after every event that the group's state fits together, and after every write that a replay gives the same.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator.announcements import MemberChange
from tests.support.consumers import Consumer
from tests.support.laws import law
from tests.support.mixed import ClassicReader, Mixed, share_of

GONE = ("member_left", "member_expired", "member_fenced", "member_replaced")
PARTITIONS = 4


class World(Mixed):
    """A group, four clients of each protocol (two of them static, with the same instance ids), and what they read."""

    def __init__(self) -> None:
        super().__init__(orders=PARTITIONS, config={"consumer_session_timeout_ms": 30_000})
        self.readers = [
            self.consumer("orders", instance_id=i, rebalance_timeout_ms=20_000) for i in (None, None, "i", "j")
        ]
        self.members = [
            self.classic_reader("orders", instance_id=i, rebalance_timeout_ms=20_000) for i in (None, None, "i", "j")
        ]
        self.seen_so_far = len(self.announced)

    def act(self, kind: str, who: int, what: int) -> None:
        getattr(self, kind)(who, what)
        self.believe()
        self.check_held()

    def believe(self) -> None:
        """Who is out stops reading: by its own clock, or because its next life has begun."""
        for _, change in self.announced[self.seen_so_far :]:
            if isinstance(change, MemberChange) and change.kind in GONE:
                for client in (*self.readers, *self.members):
                    if client.id == change.member_id:
                        drop(client)
        self.seen_so_far = len(self.announced)

    def check_held(self) -> None:
        held = [(p, each.id) for each in (*self.readers, *self.members) for p in each.held.get("orders", ())]
        assert len({p for p, _ in held}) == len(held), f"two read the same: {held}"

    # What readers do

    def reader_joins(self, who: int, what: int) -> None:
        reader = self.readers[who]
        drop(reader)
        if what:
            reader.id = f"reader-{next(self.uuids)}"
        self.told(reader, reader.joins())

    def reader_acks(self, who: int, what: int) -> None:
        if self.readers[who].epoch > 0:
            self.told(self.readers[who], self.readers[who].acks())

    def reader_beats(self, who: int, what: int) -> None:
        if self.readers[who].epoch > 0:
            self.told(self.readers[who], self.readers[who].beats())

    def reader_leaves(self, who: int, what: int) -> None:
        reader = self.readers[who]
        if reader.epoch > 0:
            epoch = -2 if what and reader.instance_id is not None else -1
            drop(reader, keep_epoch=True)
            reader.leaves(epoch)
            reader.epoch = 0

    def told(self, reader: Consumer, code: int) -> None:
        if code in (25, 69, 82, 110, 111):
            drop(reader)

    # What classic members do

    def member_joins(self, who: int, what: int) -> None:
        """With what it holds while the group is a consumer group; with nothing, as eager consumers do, else."""
        member = self.members[who]
        if member.last_join.waits and member.last_join in self.parked():
            return
        if what or self.kind_or_none() != "consumer":
            member.held = {}
        if not member.id and member.instance_id is None:
            asked = member.sends_join()
            if not asked.replies or asked.code != 79:
                return
            member.id = asked.answer.member_id
        member.last_join = asked = member.sends_join()
        if asked.replies and asked.code:
            drop(member)

    def member_syncs(self, who: int, what: int) -> None:
        member = self.members[who]
        answer = member.last_join.replies[0] if member.last_join.replies else None
        if answer is None or answer.code or answer.member_id != member.id:
            return
        member.protocol = answer.protocol_name
        known = {each.id: each for each in self.members}
        listed = [known[row.member_id] for row in answer.members if row.member_id in known]
        rows = [tuple(range(PARTITIONS))[place :: len(listed)] for place in range(len(listed))]
        asked = member.syncs({each: share_of({"orders": row}) for each, row in zip(listed, rows, strict=True)})
        if asked.replies and asked.code in (22, 25, 82):
            drop(member)

    def member_beats(self, who: int, what: int) -> None:
        member = self.members[who]
        if member.id and member.generation >= 0 and member.beats() in (22, 25, 82):
            drop(member)

    def member_leaves(self, who: int, what: int) -> None:
        member = self.members[who]
        if member.id:
            member.held = {}
            self.leaves((member.id, member.instance_id))
            drop(member)

    def kind_or_none(self) -> str | None:
        rows = self.listed()
        return rows["group"].type if "group" in rows else None

    def parked(self) -> list[Any]:
        classic = self.core.groups["group"].classic if "group" in self.core.groups else None
        return [] if classic is None else [member.parked_join for member in classic.members.values()]

    # The world

    def time_passes(self, who: int, what: int) -> None:
        self.passes((2_000, 11_000)[what])

    def broker_dies(self, who: int, what: int) -> None:
        self.restarts()

    def disk_is_full(self, who: int, what: int) -> None:
        self.journal.full = bool(what)


def drop(client: Consumer | ClassicReader, *, keep_epoch: bool = False) -> None:
    """It reads nothing, and is nobody."""
    client.held = {}
    if isinstance(client, Consumer):
        client.epoch = client.epoch if keep_epoch else 0
    else:
        client.id, client.generation = "", -1


OFTEN = ("reader_acks", "reader_acks", "reader_beats", "member_joins", "member_syncs", "member_syncs", "member_beats")
"""So that groups settle now and then."""
ACTS = [*OFTEN, *(name for name in vars(World) if name.split("_")[0] in ("reader", "member", "time", "broker", "disk"))]
histories = st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 3), st.integers(0, 1)), max_size=60)


@given(histories)
@law
def test_nothing_is_read_twice_and_a_restart_loses_nothing(history):
    world = World()
    for act in history:
        world.act(*act)


@pytest.mark.parametrize("seed", range(10))
def test_nothing_is_read_twice_however_long_it_goes_on(seed):
    dice = random.Random(seed)
    world = World()
    for _ in range(600):
        kind = dice.choice(ACTS)
        world.act(kind, dice.randrange(4), int(dice.random() < (0.1 if kind == "disk_is_full" else 0.3)))
