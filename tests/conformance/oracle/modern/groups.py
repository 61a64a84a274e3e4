"""A KIP-848 consumer group as the tests drive it: its members, classic ones beside them, and what the other APIs say of it.

    a = cg.joined(t)            -> Member that sent its first heartbeat: a.epoch, a.held
    a.beat()                    -> the steady heartbeat, every optional field null; a test names the fields and error it wants
    a.ack()                     -> a heartbeat that names what the member holds, as a client sends once it let go of something
    settle(a, b)                -> each acknowledges in turn until nothing changes
    k = cg.classic(t)           -> ClassicMember, which joins, syncs and beats as clients did before KIP-848

Nothing runs in the background: one call, one request. SETTINGS make the broker's times short.
"""

import struct
import uuid

from tests.conformance.oracle.calls import ask, put
from tests.support.waiting import until

SESSION, INTERVAL = 4.0, 1.0  # seconds
SETTINGS = {
    "group.consumer.session.timeout.ms": 4_000,
    "group.consumer.min.session.timeout.ms": 1_000,
    "group.consumer.heartbeat.interval.ms": 1_000,
    "group.consumer.min.heartbeat.interval.ms": 500,
    "group.initial.rebalance.delay.ms": 0,
}
NAMES, IDS = {}, {}  # topic id -> name and name -> newest id, of the topics that `topic` made


def owned(held):
    """{topic name: partitions} as a heartbeat says it."""
    return [{"topic_id": IDS[name], "partitions": list(partitions)} for name, partitions in held.items()]


def by_name(assigned):
    """An assignment of an answer as {topic name: sorted partitions}."""
    return {NAMES[t.topic_id]: sorted(t.partitions) for t in assigned.topic_partitions}


class Member:
    """A member of a consumer group. `epoch` and `held` are what the broker last said; `told`: that was with an assignment."""

    def __init__(self, c, group, topics=(), *, id=None, instance=None, **joining):
        self.c, self.group, self.topics, self.instance, self.joining = c, group, list(topics), instance, joining
        self.id = str(uuid.uuid4()) if id is None else id
        self.epoch, self.held, self.told = 0, {}, False

    def __repr__(self):
        return f"Member({self.id}, epoch {self.epoch}, {self.held})"

    def beat(self, error=0, version=1, **values):
        """One heartbeat with the given fields; the answer must carry that error."""
        answer = ask(
            self.c,
            "ConsumerGroupHeartbeat",
            version,
            **{"group_id": self.group, "member_id": self.id, "member_epoch": self.epoch, **values},
        )
        assert answer.error_code == error, answer
        if not error:
            self.epoch, self.told = answer.member_epoch, answer.assignment is not None
            if self.told:
                self.held = by_name(answer.assignment)
        return answer

    def first(self):
        """The fields that a member must send when it joins."""
        return {
            "member_epoch": 0,
            "instance_id": self.instance,
            "rebalance_timeout": 30_000,
            "subscribed_topic_names": self.topics,
            "topic_partitions": [],
            **self.joining,
        }

    def join(self, error=0, version=1, **values):
        return self.beat(error, version, **{**self.first(), **values})

    def ack(self, held=None, error=0, **values):
        """Names all that was assigned, or the given {topic: partitions}."""
        return self.beat(error, topic_partitions=owned(self.held if held is None else held), **values)

    def leave(self, epoch=-1, error=0, **values):
        return self.beat(error, member_epoch=epoch, instance_id=self.instance, **values)


def settle(*members):
    """Every member acknowledges in turn, until a round changes nothing and all share one epoch. Returns what each holds."""

    def round_is_quiet():
        before = [(m.epoch, m.held) for m in members]
        for m in members:
            m.ack()
        return before == [(m.epoch, m.held) for m in members] and len({m.epoch for m in members}) == 1

    until(round_is_quiet)
    return [m.held for m in members]


def _string(value):
    return struct.pack(">h", len(value.encode())) + value.encode()


def _bytes(value):
    return struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value


def _partitions(held):
    return struct.pack(">i", len(held)) + b"".join(
        _string(name) + struct.pack(f">{len(numbers) + 1}i", len(numbers), *numbers) for name, numbers in held.items()
    )


def subscription(topics, held=None, generation=-1, user_data=None):
    """The metadata that a classic consumer joins with (version 2): its topics, and what it holds since which generation."""
    return (
        struct.pack(">hi", 2, len(topics))
        + b"".join(map(_string, topics))
        + _bytes(user_data)
        + _partitions(held or {})
        + struct.pack(">i", generation)
    )


def assignment(held, user_data=None):
    """The bytes that a leader hands to one member: {topic: partitions}."""
    return struct.pack(">h", 1) + _partitions(held) + _bytes(user_data)


def read_assignment(data):
    """The reverse of `assignment`; zero bytes are {}."""
    held, at = {}, 6
    for _ in range(struct.unpack_from(">hi", data)[1] if data else 0):
        size = struct.unpack_from(">h", data, at)[0]
        name, at = data[at + 2 : at + 2 + size].decode(), at + 2 + size
        count = struct.unpack_from(">i", data, at)[0]
        held[name] = sorted(struct.unpack_from(f">{count}i", data, at + 4))
        at += 4 + 4 * count
    return held


class ClassicMember:
    """A member that speaks the classic protocol. Each has a connection of its own, as Join and Sync may park.

    `generation`, `protocol`, `leader` and `held` are what the broker last said.
    """

    def __init__(
        self, c, group, topics=(), *, id="", instance=None, protocols=("range",), session=10_000, rebalance=30_000
    ):
        self.c, self.group, self.topics, self.id, self.instance = c, group, list(topics), id, instance
        self.protocols, self.session, self.rebalance = protocols, session, rebalance
        self.generation, self.protocol, self.leader, self.held = -1, None, None, {}

    @property
    def epoch(self):
        return self.generation

    def __repr__(self):
        return f"ClassicMember({self.id}, generation {self.generation}, {self.held})"

    def send_join(self, version=9, metadata=None, **values):
        metadata = subscription(self.topics, self.held, self.generation) if metadata is None else metadata
        put(
            self.c,
            "JoinGroup",
            version,
            **{
                "group_id": self.group,
                "session_timeout": self.session,
                "rebalance_timeout": self.rebalance,
                "member_id": self.id,
                "group_instance_id": self.instance,
                "protocol_type": "consumer",
                "protocols": [{"name": name, "metadata": metadata} for name in self.protocols],
                **values,
            },
        )

    def recv_join(self, error=0):
        answer = self.c.recv()
        assert answer.error_code == error, answer
        if error in (0, 79):
            self.id = answer.member_id
        if error == 0:
            self.generation, self.leader = answer.generation_id, answer.leader
            self.protocol = answer.protocol_name
        return answer

    def join(self, error=0, **values):
        """Joins; a member without an id is given one first."""
        if error == 0 and not self.id and self.instance is None:
            self.ask_id(**values)
        self.send_join(**values)
        return self.recv_join(error)

    def ask_id(self, **values):
        self.send_join(**values)
        self.recv_join(79)
        return self.id

    def send_sync(self, shares=(), **values):
        """`shares` is the leader's {member id: {topic: partitions} or bytes}."""
        shares = {
            member: data if isinstance(data, bytes) else assignment(data) for member, data in dict(shares).items()
        }
        put(
            self.c,
            "SyncGroup",
            5,
            **{
                "group_id": self.group,
                "generation_id": self.generation,
                "member_id": self.id,
                "group_instance_id": self.instance,
                "protocol_type": "consumer",
                "protocol_name": self.protocol,
                "assignments": [{"member_id": member, "assignment": data} for member, data in shares.items()],
                **values,
            },
        )

    def recv_sync(self, error=0, read=True):
        answer = self.c.recv()
        assert answer.error_code == error, answer
        if error == 0 and read:
            self.held = read_assignment(answer.assignment)
        return answer

    def sync(self, shares=(), error=0, read=True, **values):
        self.send_sync(shares, **values)
        return self.recv_sync(error, read)

    def rejoin(self):
        """Join and Sync, as a client does when it is told to rebalance. Returns what it holds then."""
        self.join()
        self.sync()
        return self.held

    def beat(self, **values):
        """The code of a heartbeat's answer."""
        return int(
            ask(
                self.c,
                "Heartbeat",
                4,
                **{
                    "group_id": self.group,
                    "generation_id": self.generation,
                    "member_id": self.id,
                    "group_instance_id": self.instance,
                    **values,
                },
            ).error_code
        )

    def leave(self):
        """The code of the member's row in LeaveGroup."""
        return int(
            ask(
                self.c,
                "LeaveGroup",
                5,
                group_id=self.group,
                members=[{"member_id": self.id, "group_instance_id": self.instance}],
            )
            .members[0]
            .error_code
        )


class ConsumerGroup:
    """One group: its members, and what it looks like from outside."""

    def __init__(self, connect, name):
        self.connect, self.name, self.c = connect, name, connect()

    def member(self, *topics, **joining):
        """A member that has not joined yet."""
        return Member(self.c, self.name, topics, **joining)

    def joined(self, *topics, **joining):
        member = self.member(*topics, **joining)
        member.join()
        return member

    def settled(self, count, *topics, **joining):
        """So many members, all at one epoch and each with its share."""
        members = [self.joined(*topics, **joining) for _ in range(count)]
        settle(*members)
        return members

    def classic(self, *topics, **spec):
        """A classic member that has not joined yet."""
        return ClassicMember(self.connect(), self.name, topics, **spec)

    def classic_members(self, topics, *shares, instances=None, **spec):
        """A Stable classic group of one member per share, {topic: partitions} or bytes; the first leads."""
        leader, *others = members = [
            self.classic(*topics, instance=i, **spec) for i in instances or [None] * len(shares)
        ]
        leader.join()
        for other in others:
            if other.instance is None:
                other.ask_id()
            other.send_join()
        if others:
            until(lambda: len(self.describe_classic().members) == len(members))
            leader.send_join()
            for member in members:
                member.recv_join()
        for other in others:
            other.send_sync()
        leader.send_sync({m.id: share for m, share in zip(members, shares, strict=True)})
        for member, share in zip(members, shares, strict=True):
            member.recv_sync(read=not isinstance(share, bytes))
        return members

    def describe(self, version=1, error=0):
        """The group's row in ConsumerGroupDescribe."""
        (row,) = ask(self.c, "ConsumerGroupDescribe", version, group_ids=[self.name]).groups
        assert row.error_code == error, row
        return row

    def describe_classic(self, version=6):
        """The group's row in DescribeGroups."""
        return ask(self.c, "DescribeGroups", version, groups=[self.name]).groups[0]

    def seen(self):
        """State, group epoch and assignment epoch."""
        row = self.describe()
        return row.group_state, row.group_epoch, row.assignment_epoch

    def shown(self, member):
        """The member's row in ConsumerGroupDescribe, by member or id."""
        wanted = member if isinstance(member, str) else member.id
        return next(m for m in self.describe().members if m.member_id == wanted)

    def targets(self):
        """{member id: {topic: partitions}} of the target assignment."""
        return {m.member_id: by_name(m.target_assignment) for m in self.describe().members}

    def listed(self, **filters):
        """State and type in ListGroups, None when the list leaves the group out."""
        answer = ask(self.c, "ListGroups", 5, **filters)
        assert answer.error_code == 0, answer
        return next(((g.group_state, g.group_type) for g in answer.groups if g.group_id == self.name), None)

    def remove(self, *members):
        """LeaveGroup as an administrator sends it, with (member id, instance id) each; the rows of the answer, with codes."""
        answer = ask(
            self.c,
            "LeaveGroup",
            5,
            group_id=self.name,
            members=[{"member_id": i, "group_instance_id": s} for i, s in members],
        )
        assert answer.error_code == 0, answer
        return [(m.member_id, m.group_instance_id, int(m.error_code)) for m in answer.members]

    def configure(self, error=0, **configs):
        """IncrementalAlterConfigs of this group alone."""
        (answer,) = ask(
            self.c,
            "IncrementalAlterConfigs",
            1,
            resources=[
                {
                    "resource_type": 32,
                    "resource_name": self.name,
                    "configs": [{"name": k, "config_operation": 0, "value": v} for k, v in configs.items()],
                }
            ],
        ).responses
        assert answer.error_code == error, answer

    def delete(self):
        """The code of DeleteGroups."""
        return int(ask(self.c, "DeleteGroups", 2, groups_names=[self.name]).results[0].error_code)

    def commit(self, topic, member=None, offset=1, version=9, partition=0, **who):
        """The code of a commit to one partition, by a member at its epoch or as `id` and `epoch` say; else by nobody."""
        who = {**({"id": member.id, "epoch": member.epoch} if member else {"id": "", "epoch": -1}), **who}
        row = {
            "partition_index": partition,
            "committed_offset": offset,
            "committed_leader_epoch": -1,
            "committed_metadata": "",
        }
        answer = ask(
            self.c,
            "OffsetCommit",
            version,
            group_id=self.name,
            generation_id_or_member_epoch=who["epoch"],
            member_id=who["id"],
            topics=[{"name": topic, "partitions": [row]}],
        )
        return int(answer.topics[0].partitions[0].error_code)

    def committed(self, topic, member=None, error=0, partition=0, **who):
        """The committed offset of one partition, asked for by a member or as `id` and `epoch` say; else by nobody."""
        who = {**({"id": member.id, "epoch": member.epoch} if member else {"id": None, "epoch": -1}), **who}
        row = ask(
            self.c,
            "OffsetFetch",
            9,
            require_stable=False,
            groups=[
                {
                    "group_id": self.name,
                    "member_id": who["id"],
                    "member_epoch": who["epoch"],
                    "topics": [{"name": topic, "partition_indexes": [partition]}],
                }
            ],
        ).groups[0]
        assert (row.group_id, row.error_code) == (self.name, error), row
        return None if error else row.topics[0].partitions[0].committed_offset
