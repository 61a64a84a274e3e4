"""Words for tests of a classic group: its members join, sync, beat and leave, and an operator looks on.

The functions speak any version: a field that the version lacks is left out. `send_*` leaves a request that may be parked to be
read later. A Member is one consumer on a connection of its own; it remembers the id and the generation that it was given.
"""

import contextlib
import struct
import time

from tests.conformance.oracle.wire import entity, fields, ms, row, schema
from tests.support.waiting import until

FOREVER = 30_000  # a session or rebalance timeout, in ms, that no test waits for


def subscription(*topics, version=0, user_data=None):
    """A consumer's metadata. Under protocol type "consumer" it should be readable as such; other types may send any bytes."""
    names = b"".join(struct.pack(">h", len(name)) + name.encode() for name in topics)
    data = struct.pack(">i", -1) if user_data is None else struct.pack(">i", len(user_data)) + user_data
    owned, generation, rack = struct.pack(">i", 0), struct.pack(">i", -1), struct.pack(">h", -1)
    later = [b"", owned, generation, rack]
    return struct.pack(">hi", version, len(topics)) + names + data + b"".join(later[: version + 1])


RANGE = (("range", subscription("t")),)
OTHER = (("range", subscription("u")),)  # the same protocol with other metadata


def known(api, version, kind="request", /, **values):
    """The values that a message of this version can carry."""
    has = fields(api, version, kind)[f"{api}{kind.capitalize()}"]
    return {name: value for name, value in values.items() if name in has}


def reply(api, version, /, **values):
    """A whole answer as it is expected; fields that the version lacks are left out."""
    return entity(api, version, "response")(**known(api, version, "response", **{"throttle_time": ms(0), **values}))


def refused_join(version, code, member_id=""):
    return reply(
        "JoinGroup",
        version,
        error_code=code,
        generation_id=-1,
        protocol_type=None,
        protocol_name=None if version >= 7 else "",
        leader="",
        skip_assignment=False,
        member_id=member_id,
        members=(),
    )


def refused_sync(version, code):
    return reply("SyncGroup", version, error_code=code, protocol_type=None, protocol_name=None, assignment=b"")


def joiner(version, member_id, metadata, instance=None):
    """A member as a leader's JoinGroup answer lists it."""
    with_instance = {"group_instance_id": instance} if version >= 5 else {}
    return schema("JoinGroup", version, "response").JoinGroupResponseMember(
        member_id=member_id, metadata=metadata, **with_instance
    )


def send_join(
    client,
    group,
    member_id="",
    *,
    version=9,
    instance=None,
    protocols=RANGE,
    protocol_type="consumer",
    session=FOREVER,
    rebalance=FOREVER,
    reason=None,
    client_id="oracle",
):
    rows = tuple(
        row("JoinGroup", version, "JoinGroupRequestProtocol", name=name, metadata=metadata)
        for name, metadata in protocols
    )
    client.send(
        "JoinGroup",
        version,
        client_id,
        **known(
            "JoinGroup",
            version,
            group_id=group,
            session_timeout=ms(session),
            rebalance_timeout=ms(rebalance),
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=rows,
            reason=reason,
        ),
    )


def join(client, group, member_id="", **options):
    send_join(client, group, member_id, **options)
    return client.recv()


def send_sync(
    client,
    group,
    generation,
    member_id,
    assignments=(),
    *,
    version=5,
    instance=None,
    protocol_type="consumer",
    protocol_name="range",
):
    rows = tuple(
        row("SyncGroup", version, "SyncGroupRequestAssignment", member_id=to, assignment=what)
        for to, what in dict(assignments).items()
    )
    client.send(
        "SyncGroup",
        version,
        **known(
            "SyncGroup",
            version,
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=rows,
        ),
    )


def sync(client, group, generation, member_id, assignments=(), **options):
    send_sync(client, group, generation, member_id, assignments, **options)
    return client.recv()


def heartbeat(client, group, generation, member_id, *, version=4, instance=None):
    """The code of the answer."""
    return client.call(
        "Heartbeat",
        version,
        **known(
            "Heartbeat",
            version,
            group_id=group,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
        ),
    ).error_code


def leave(client, group, *identities, version=5, reason=None):
    """Identities are (member id, instance id) from version 3; before, there is one member id."""
    if version < 3:
        return client.call("LeaveGroup", version, group_id=group, member_id=identities[0])
    why = {"reason": reason} if version >= 5 else {}
    rows = tuple(
        row("LeaveGroup", version, "MemberIdentity", member_id=member_id, group_instance_id=instance, **why)
        for member_id, instance in identities
    )
    return client.call("LeaveGroup", version, group_id=group, members=rows)


def left(answer):
    """Member id, instance id and code of each row of a LeaveGroup answer that has no error of its own."""
    assert answer.error_code == 0, answer
    return [(m.member_id, m.group_instance_id, m.error_code) for m in answer.members]


def describe(client, group, version=5):
    return client.call(
        "DescribeGroups",
        version,
        **known("DescribeGroups", version, groups=(group,), include_authorized_operations=False),
    ).groups[0]


@contextlib.contextmanager
def takes(least, most):
    """What happens inside takes so many seconds."""
    start = time.monotonic()
    yield
    assert least <= time.monotonic() - start <= most, f"{time.monotonic() - start:.2f} s, not {least} to {most}"


def reaches(client, group, state, members=None, within_s=5.0):
    """Wait until the group is seen in a state, and with so many members; return the description."""

    def look():
        seen = describe(client, group)
        return seen if seen.group_state == state and members in (None, len(seen.members)) else None

    return until(look, within_s)


def rebalancing(connect, group):
    """Wait until a join has been taken that made the group rebalance."""
    return reaches(connect(), group, "PreparingRebalance")


class Member:
    def __init__(self, client, group, *, version=9, sync_version=5, instance=None, **options):
        self.client, self.group, self.version, self.sync_version = client, group, version, sync_version
        self.instance, self.options = instance, options
        self.id, self.generation, self.answer = "", -1, None

    def take_id(self, **changes):
        """Ask to join without an id and be told one (KIP-394)."""
        answer = join(self.client, self.group, version=self.version, **{**self.options, **changes})
        assert answer.error_code == 79, answer
        self.id = answer.member_id
        return self.id

    def send_join(self, **changes):
        """Ask to join, after taking an id where the version needs one."""
        if not self.id and self.version >= 4 and self.instance is None:
            self.take_id(**changes)
        send_join(
            self.client,
            self.group,
            self.id,
            **{"version": self.version, "instance": self.instance, **self.options, **changes},
        )

    def joined(self, within=None):
        self.answer = self.client.recv(within)
        assert self.answer.error_code == 0, self.answer
        self.id, self.generation = self.answer.member_id, self.answer.generation_id
        return self.answer

    def join(self, **changes):
        self.send_join(**changes)
        return self.joined()

    def leads(self):
        return self.answer.leader == self.id

    def listed(self):
        """Metadata by member id, as the last join answer listed the members."""
        return {m.member_id: m.metadata for m in self.answer.members}

    def send_sync(self, assignments=(), **changes):
        named = {
            "version": self.sync_version,
            "instance": self.instance,
            "protocol_name": self.answer.protocol_name,
            "protocol_type": self.options.get("protocol_type", "consumer"),
            "generation": self.generation,
            **changes,
        }
        send_sync(self.client, self.group, named.pop("generation"), self.id, assignments, **named)

    def sync(self, assignments=(), **changes):
        self.send_sync(assignments, **changes)
        return self.client.recv()

    def parked(self, seconds=0.2):
        """The request that was sent last is not answered."""
        self.client.silent(seconds)

    def heartbeat(self, generation=None, **changes):
        return heartbeat(
            self.client,
            self.group,
            self.generation if generation is None else generation,
            self.id,
            **{"instance": self.instance, **changes},
        )

    def leave(self, **changes):
        return left(leave(self.client, self.group, (self.id, self.instance), **changes))


def gathered(connect, group, *members):
    """One join phase for all: the first leads, the others are new. Nobody has synced yet: CompletingRebalance, generation 2."""
    watch, (leader, *others) = connect(), members
    leader.join()
    if others:
        assert leader.sync().error_code == 0
    for other in others:
        other.send_join()
    if others:
        reaches(watch, group, "PreparingRebalance", len(members))
        leader.send_join()
        for member in members:
            member.joined()
    return members


def assigned(members, what=None):
    """The leader hands out assignments, by default each member's index, and all sync: Stable. Returns the answers."""
    what = {m.id: b"%d" % i for i, m in enumerate(members)} if what is None else what
    for follower in members[1:]:
        follower.send_sync()
    answers = [members[0].sync(what)] + [follower.client.recv() for follower in members[1:]]
    assert {a.error_code for a in answers} == {0}, answers
    return answers


def settled(connect, group, count=2, **options):
    """A Stable group; the first member leads, and each has its index as assignment."""
    members = gathered(connect, group, *(Member(connect(), group, **options) for _ in range(count)))
    assigned(members)
    return members


def statics(connect, group, *instances, **options):
    """A Stable group of static members, the first of which leads; each has its index as assignment."""
    members = gathered(connect, group, *(Member(connect(), group, instance=name, **options) for name in instances))
    assigned(members)
    return members


def restarted(connect, old, **changes):
    """The process of a static member starts anew: it has its instance id and no member id yet."""
    return Member(connect(), old.group, instance=old.instance, **{"version": old.version, **old.options, **changes})
