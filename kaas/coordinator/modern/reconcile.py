"""How a member gets from what it holds to what it is to hold: it lets go first, and is given what nobody else holds.

Job: one step of one member towards the target, from what it holds and what it says that it holds.
Rules
- A member that is to give something up stays at its epoch until it has said that it no longer holds that; silence says nothing.
- Then it is at the target epoch, and gets of its share what is free; the rest comes with later steps, as others let go.
- A topic that the member no longer subscribes to is no part of its share, whatever the target says (KAFKA-19431).
Must not know: requests, records, timers, how the target is made.
Source: KIP-848; PROTOCOL 4.3 and 7.3.1 in docs/PROTOCOL.md; KAFKA-19449 (what the member itself has let go of is free for it).
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from kaas.coordinator.modern.group import Member, MemberState, ModernGroup
from kaas.coordinator.topics import Partitions


def reconcile(group: ModernGroup, member: Member, topic_ids: Collection[bytes], owned: Partitions | None) -> Member:
    """The member after the next step; itself, if there is none to take.

    `topic_ids`: what it subscribes to. `owned`: what it says that it holds; null: it says nothing.
    """
    share = {topic_id: row for topic_id, row in group.target.get(member.member_id, {}).items() if topic_id in topic_ids}
    if member.state == MemberState.UNREVOKED and still_holds(owned, member.revoking):
        return without(member, topic_ids)
    if member.state == MemberState.STABLE and member.epoch == group.target_epoch and member.assigned == share:
        return member
    surplus = minus(member.assigned, share)
    if still_holds(owned, surplus):
        return at_epoch(member, member.epoch, MemberState.UNREVOKED, minus(member.assigned, surplus), surplus)
    return at_target(group, member, share)


def at_target(group: ModernGroup, member: Member, share: Partitions) -> Member:
    """At the target epoch, with all of its share that is free."""
    kept = common(member.assigned, share)
    wanted = minus(share, kept)
    mine = (None, member.member_id)
    given = {topic_id: tuple(p for p in row if group.owner(topic_id, p) in mine) for topic_id, row in wanted.items()}
    given = {topic_id: row for topic_id, row in given.items() if row}
    state = MemberState.STABLE if given == wanted else MemberState.UNRELEASED
    return at_epoch(member, group.target_epoch, state, plus(kept, given), {})


def without(member: Member, topic_ids: Collection[bytes]) -> Member:
    """Of a member that is giving up: what it no longer subscribes to as well."""
    surplus = {topic_id: row for topic_id, row in member.assigned.items() if topic_id not in topic_ids}
    if not surplus:
        return member
    kept = minus(member.assigned, surplus)
    return at_epoch(member, member.epoch, MemberState.UNREVOKED, kept, plus(member.revoking, surplus))


def at_epoch(member: Member, epoch: int, state: MemberState, assigned: Partitions, revoking: Partitions) -> Member:
    """The member with its epoch said anew: the one that it had is the one that a repeated heartbeat may name."""
    unchanged = assigned == member.assigned
    return msgspec.structs.replace(
        member,
        epoch=epoch,
        previous_epoch=member.epoch,
        state=state,
        assigned=member.assigned if unchanged else assigned,
        revoking=revoking,
    )


def still_holds(owned: Partitions | None, revoked: Partitions) -> bool:
    """Whether a member may still hold some of what it is to give up."""
    return bool(revoked) and (owned is None or bool(common(revoked, owned)))


def common(these: Partitions, those: Partitions) -> Partitions:
    """What is in both."""
    found = {}
    for topic_id, row in these.items():
        others = frozenset(those.get(topic_id, ()))
        if kept := tuple([p for p in row if p in others]):
            found[topic_id] = kept
    return found


def minus(these: Partitions, those: Partitions) -> Partitions:
    """What is in the first only."""
    found = {}
    for topic_id, row in these.items():
        others = frozenset(those.get(topic_id, ()))
        if left := tuple([p for p in row if p not in others]):
            found[topic_id] = left
    return found


def plus(these: Partitions, those: Partitions) -> Partitions:
    """What is in one of them, in the order of topic ids and partitions."""
    return {
        topic_id: tuple(sorted({*these.get(topic_id, ()), *those.get(topic_id, ())}))
        for topic_id in sorted({*these, *those})
    }
