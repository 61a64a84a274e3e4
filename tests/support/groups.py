"""Words for tests of a coordinator: members join, sync, beat, commit and leave, and an operator acts.

    groups = Groups()
    a, b = groups.member(), groups.member()
    a.joins()
    b.joins()

A request gives what was asked (`Asked`): its answer, or that it waits. A member remembers the id and generation it was told,
whenever the answer comes. Versions are those of JoinGroup; a member below 4 is admitted without an id, one below 9 knows no
SkipAssignment.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from kaas.coordinator import queries
from kaas.coordinator.answers import JoinAnswer, SyncAnswer
from kaas.coordinator.classic.group import ClassicGroup
from kaas.coordinator.classic.states import State
from kaas.coordinator.events import (
    Commit,
    DeleteGroup,
    DeleteOffsets,
    Heartbeat,
    Join,
    Leave,
    Leaving,
    Protocols,
    Sync,
    Unload,
)
from kaas.coordinator.offset_entry import OffsetKey
from kaas.wire.consumer_protocol import Assignment, Subscription, encode_assignment, encode_subscription
from tests.support.offsets import offset_rows
from tests.support.shell import Asked, Shell

GROUP = "group"


def subscription(*topics: str) -> bytes:
    return encode_subscription(Subscription(version=0, topics=topics))


def assignment(topic: str, *partitions: int) -> bytes:
    return encode_assignment(Assignment(version=0, partitions={topic: partitions}))


def protocols(*names: str, topic: str = "t") -> Protocols:
    """These strategies, each with a subscription to one topic."""
    return tuple((name, subscription(topic)) for name in names)


RANGE = protocols("range")
OTHER_TOPIC = protocols("range", topic="u")


class Groups(Shell):
    """The coordinator of one group in most tests; `group_id` names another."""

    def __init__(self, **config: Any) -> None:
        self.uuids = itertools.count(1)
        super().__init__(**config)

    # People

    def member(self, instance_id: str | None = None, **about: Any) -> Member:
        """Somebody who has not joined yet."""
        return Member(self, instance_id, **about)

    def members(self, count: int, **about: Any) -> list[Member]:
        return [self.member(**about) for _ in range(count)]

    def gathered(self, *people: Member) -> list[Member]:
        """All of them in one generation, the first leads, nobody has synced: CompletingRebalance."""
        for each in people:
            each.joins()
        for each in people:
            if each.last_join.replies:  # admitted before the others came
                each.joins()
        assert self.state is State.COMPLETING_REBALANCE, self.state
        return list(people)

    def settled(self, *people: Member) -> list[Member]:
        """All of them in one generation, each with the partition of its place: Stable."""
        self.gathered(*people)
        leader = next(each for each in people if each.leads)
        for each in people:
            if each is not leader:
                each.syncs()
        leader.syncs({each: assignment("t", place) for place, each in enumerate(people)})
        assert self.state is State.STABLE, self.state
        return list(people)

    # What is seen

    def classic(self, group_id: str = GROUP) -> ClassicGroup:
        return self.core.groups[group_id].classic

    @property
    def state(self) -> State:
        return self.classic().state if GROUP in self.core.groups else State.DEAD

    @property
    def generation(self) -> int:
        return self.classic().generation

    @property
    def ids(self) -> list[str]:
        """Member ids, in the order of arrival."""
        return list(self.classic().members)

    def described(self, group_id: str = GROUP) -> queries.DescribedGroup:
        return queries.describe_group(self.core, group_id)

    def listed(self, *, states: Iterable[str] = (), types: Iterable[str] = ()) -> dict[str, queries.ListedGroup]:
        code, rows = queries.list_groups(self.core, states, types)
        assert not code
        return {row.group_id: row for row in rows}

    def committed(self, group_id: str = GROUP) -> dict[OffsetKey, int]:
        """Every offset that is there."""
        found = queries.fetch_offsets(self.core, group_id, None, require_stable=False)
        assert not found.code
        return {key: entry.offset for key, entry in found.offsets.items() if entry is not None}

    # An operator, and anybody

    def leaves(self, *who: tuple[str, str | None], reason: str | None = None, group_id: str = GROUP) -> Asked:
        """LeaveGroup with rows of member id and instance id."""
        rows = tuple(Leaving(member_id=member_id, instance_id=instance, reason=reason) for member_id, instance in who)
        return self.ask(Leave, group_id=group_id, members=rows)

    def commits(self, offsets: Mapping[OffsetKey, int], *, group_id: str = GROUP, **who: Any) -> Asked:
        """OffsetCommit, by nobody unless `who` says so."""
        told = {"generation": -1, "member_id": "", "instance_id": None, **who}
        of_rows = {name: told.pop(name) for name in ("metadata", "retention_ms") if name in told}
        rows = offset_rows(offsets, at=self.wall_ms, **of_rows)
        return self.ask(Commit, group_id=group_id, rows=rows, **told)

    def deletes(self, group_id: str = GROUP) -> Asked:
        return self.ask(DeleteGroup, group_id=group_id)

    def deletes_offsets(self, *partitions: OffsetKey, group_id: str = GROUP) -> Asked:
        return self.ask(DeleteOffsets, group_id=group_id, partitions=partitions)

    def unloads(self, group_id: str = GROUP, assignment_version: int = 2) -> None:
        """Another broker coordinates the group from now on."""
        self.moved.add(group_id)
        self.submit(Unload(group_id=group_id, assignment_version=assignment_version))

    def ask(self, event: type, **fields: Any) -> Asked:
        """Any request."""
        asked = Asked()
        self.submit(event(reply_to=asked, **fields))
        return asked

    def join_event(self, asked: Any, **fields: Any) -> Join:
        """A Join that would be admitted, with some fields changed."""
        usual = {
            "group_id": GROUP,
            "member_id": "",
            "instance_id": None,
            "client_id": "client",
            "client_host": "/10.0.0.1",
            "session_timeout_ms": 30_000,
            "rebalance_timeout_ms": 60_000,
            "protocol_type": "consumer",
            "protocols": RANGE,
            "fresh_id": f"uuid{next(self.uuids)}",
        }
        return Join(reply_to=asked, **{**usual, **fields})

    def joins(self, **fields: Any) -> Asked:
        """A Join of somebody who is no `Member`."""
        asked = Asked()
        self.submit(self.join_event(asked, **fields))
        return asked


class Member:
    """One client process. `about` may have any field of a Join, and `version`."""

    def __init__(self, groups: Groups, instance_id: str | None = None, *, version: int = 9, **about: Any) -> None:
        self.groups = groups
        self.instance_id = instance_id
        self.version = version
        self.about = about
        self.id = ""
        self.generation = -1
        self.last_join = Asked()
        self.last_sync = Asked()

    # JoinGroup

    def takes_id(self, **changes: Any) -> str:
        """Ask to join without an id and be told one (KIP-394)."""
        answer = self._join(**changes).answer
        assert answer.code == 79, answer
        self.id = answer.member_id
        return self.id

    def joins(self, **changes: Any) -> Asked:
        """Ask to join, after taking an id where the version needs one."""
        if not self.id and self.version >= 4 and self.instance_id is None:
            self.takes_id(**changes)
        self.last_join = self._join(**changes)
        return self.last_join

    def _join(self, **changes: Any) -> Asked:
        asked = Asked(learn=self._learn)
        fields = {
            "member_id": self.id,
            "instance_id": self.instance_id,
            "requires_known_id": self.version >= 4,
            "can_skip_assignment": self.version >= 9,
            **self.about,
            **changes,
        }
        self.groups.submit(self.groups.join_event(asked, **fields))
        return asked

    def _learn(self, answer: JoinAnswer) -> None:
        if not answer.code:
            self.id, self.generation = answer.member_id, answer.generation

    @property
    def joined(self) -> JoinAnswer:
        """The answer to the last Join, which went well."""
        answer: JoinAnswer = self.last_join.answer
        assert not answer.code, answer
        return answer

    @property
    def leads(self) -> bool:
        return self.joined.leader == self.id

    @property
    def listed(self) -> dict[str, bytes]:
        """Metadata by member id, as the leader was told."""
        return {m.member_id: m.metadata for m in self.joined.members}

    def restarts(self, **changes: Any) -> Member:
        """The process of a static member starts anew: it has its instance id and no member id."""
        assert self.instance_id is not None
        return Member(self.groups, self.instance_id, version=self.version, **{**self.about, **changes})

    # SyncGroup, Heartbeat, LeaveGroup, OffsetCommit

    def syncs(self, assignments: Mapping[Member, bytes] | None = None, **changes: Any) -> Asked:
        """Ask for the assignment; a leader gives those of all."""
        fields = {
            "group_id": self.about.get("group_id", GROUP),
            "generation": self.generation,
            "member_id": self.id,
            "instance_id": self.instance_id,
            "protocol_type": None,
            "protocol_name": None,
            "assignments": {member.id: what for member, what in (assignments or {}).items()},
            **changes,
        }
        self.last_sync = self.groups.ask(Sync, **fields)
        return self.last_sync

    @property
    def synced(self) -> SyncAnswer:
        """The answer to the last Sync, which went well."""
        answer: SyncAnswer = self.last_sync.answer
        assert not answer.code, answer
        return answer

    def _who(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        group_id = self.about.get("group_id", GROUP)
        who = {
            "group_id": group_id,
            "generation": self.generation,
            "member_id": self.id,
            "instance_id": self.instance_id,
        }
        return {**who, **changes}

    def beats(self, **changes: Any) -> int:
        """The code of a heartbeat."""
        return int(self.groups.ask(Heartbeat, **self._who(changes)).answer)

    def leaves(self, **changes: Any) -> int:
        """The code of leaving."""
        who = msgspec.structs.replace(Leaving(member_id=self.id, instance_id=self.instance_id), **changes)
        answer = self.groups.ask(Leave, group_id=self.about.get("group_id", GROUP), members=(who,)).answer
        assert not answer.code
        return int(answer.members[0].code)

    def commits(self, offset: int = 1, topic: str = "t", partition: int = 0, **changes: Any) -> Asked:
        return self.groups.commits({(topic, partition): offset}, **self._who(changes))
