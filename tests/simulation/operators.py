"""People and tools that are no members: they look, remove, delete, reset, and sometimes ask nonsense."""

from __future__ import annotations

import random
from typing import Any

from kaas.coordinator.coordinator import Coordinator
from kaas.coordinator.events import (
    Commit,
    DeleteGroup,
    DeleteOffsets,
    Heartbeat,
    Join,
    Leave,
    Leaving,
    Sync,
)
from kaas.wire.consumer_protocol import Assignment, encode_assignment
from tests.simulation.calls import Call
from tests.simulation.lives import Lives
from tests.support.offsets import offset_rows

NOTHING = encode_assignment(Assignment(version=0, partitions={}))
"""A stranger's guess may hit a leader's id and generation: what it assigns then gives no partition to two members."""


class Operator:
    """Acts on groups as they are described at the moment."""

    def __init__(self, lives: Lives, groups: tuple[str, ...]) -> None:
        self.lives = lives
        self.groups = groups

    def act(self, core: Coordinator, dice: random.Random) -> None:
        group_id = dice.choice(self.groups)
        do = dice.choice((self._remove, self._delete, self._delete_offsets, self._reset, self._reset, self._nonsense))
        do(core, group_id, dice)

    def _ask(self, kind: type, group_id: str, **fields: Any) -> None:
        event = kind(reply_to=None, group_id=group_id, **fields)
        self.lives.send(Call(kind=kind.__name__, group_id=group_id, hear=lambda answer: None, event=event))

    def _remove(self, core: Coordinator, group_id: str, dice: random.Random) -> None:
        """One member, or all, by instance id where they have one."""
        members = members_of(core, group_id)
        if not members:
            return
        chosen = members if dice.random() < 0.3 else (dice.choice(members),)
        rows = tuple(
            Leaving(member_id="" if instance_id is not None else member_id, instance_id=instance_id)
            for member_id, instance_id in chosen
        )
        self._ask(Leave, group_id, members=(*rows, Leaving(member_id="stranger", instance_id=None)))

    def _delete(self, core: Coordinator, group_id: str, dice: random.Random) -> None:
        """Delete a group, and look how it answers while that is being written."""
        self._ask(DeleteGroup, group_id)
        for _ in range(3):
            self._nonsense(core, group_id, dice)

    def _delete_offsets(self, core: Coordinator, group_id: str, dice: random.Random) -> None:
        topic = dice.choice(sorted(self.lives.topics))
        self._ask(DeleteOffsets, group_id, partitions=((topic, 0), (topic, 1)))

    def _reset(self, core: Coordinator, group_id: str, dice: random.Random) -> None:
        topic = dice.choice(sorted(self.lives.topics))
        rows = offset_rows({(topic, dice.randrange(3)): 0}, at=self.lives.clock.wall_ms, metadata="reset")
        self._ask(Commit, group_id, generation=-1, member_id="", instance_id=None, rows=rows)

    def _nonsense(self, core: Coordinator, group_id: str, dice: random.Random) -> None:
        """Requests of members that are no more, of other generations, with other protocols."""
        who = dice.choice(["stranger", "", *(member_id for member_id, _ in members_of(core, group_id))])
        instance = dice.choice([None, None, "i0", "i9"])
        generation = dice.randrange(-1, 30)
        kind = dice.choice((Heartbeat, Sync, Commit, Join))
        if kind is Join:
            self._ask(
                Join,
                group_id,
                member_id=who,
                instance_id=instance,
                client_id="odd",
                client_host="/10.0.0.9",
                session_timeout_ms=dice.choice((6_000, 1)),
                rebalance_timeout_ms=6_000,
                protocol_type=dice.choice(("consumer", "connect", "")),
                protocols=dice.choice(((), (("odd", b""),), (("range", b"\0"), ("sticky", b"")))),
                requires_known_id=dice.random() < 0.5,
                fresh_id=f"{dice.getrandbits(64):016x}",
            )
            return
        more: dict[str, Any] = {}
        if kind is Sync:
            more = {"protocol_type": None, "protocol_name": dice.choice((None, "odd")), "assignments": {who: NOTHING}}
        elif kind is Commit:
            more = {"rows": ()}
        self._ask(kind, group_id, generation=generation, member_id=who, instance_id=instance, **more)


def members_of(core: Coordinator, group_id: str) -> list[tuple[str, str | None]]:
    """Ids and instance ids, in a group of either protocol."""
    group = core.groups.get(group_id)
    if group is None:
        return []
    members = group.classic.members if group.modern is None else group.modern.members
    return [(member.member_id, member.instance_id) for member in members.values()]
