"""The states of a consumer group and of its members, as tables.

Job: the tables are the documentation. A group's state is not kept: it follows from its members and epochs
(`ModernGroup.state`); `rebalance.follow` holds each change to these exits. A member's is what `reconcile` made of it.
Must not know: members, timers.
Source: Apache Kafka 4.2 `ConsumerGroupState`, `MemberState`; PROTOCOL 4.3 and 4.4 in docs/PROTOCOL.md.
"""

from __future__ import annotations

from dataclasses import dataclass

from kaas.coordinator.modern.group import MemberState, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One state of a group."""

    means: str
    leaves: str
    exits: tuple[State, ...]


TABLE: dict[State, Row] = {
    State.EMPTY: Row(
        means="nobody is in it",
        leaves="the first member has its share with the answer to its first heartbeat",
        exits=(State.STABLE, State.DEAD),
    ),
    State.ASSIGNING: Row(
        means="the group epoch grew, and there is no target of it yet",
        leaves="a heartbeat makes the target; the last member goes",
        exits=(State.RECONCILING, State.STABLE, State.EMPTY, State.DEAD),
    ),
    State.RECONCILING: Row(
        means="a member is not at the target: it has to let go, or waits for what another has to let go of, or is away",
        leaves="the last one gets there; the group epoch grows; the last member goes",
        exits=(State.STABLE, State.ASSIGNING, State.EMPTY, State.DEAD),
    ),
    State.STABLE: Row(
        means="every member is at the target",
        leaves="the group epoch grows; a static member goes for a while; the last member goes",
        exits=(State.ASSIGNING, State.RECONCILING, State.EMPTY, State.DEAD),
    ),
    State.DEAD: Row(
        means="deleted, expired, or moved to another broker",
        leaves="never: a group of the same name is another one",
        exits=(),
    ),
}
"""Every state of a group. One that has members of the classic protocol only is a classic group again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """One state of a member. `told`: what the answer to its heartbeat has, where that is another assignment than before."""

    means: str
    epoch: str
    told: str
    leaves: str


MEMBERS: dict[MemberState, MemberRow] = {
    MemberState.STABLE: MemberRow(
        means="it has what the target of its epoch gives it",
        epoch="that of the target, or an older one until its next heartbeat",
        told="nothing",
        leaves="there is a newer target, or it subscribes to less",
    ),
    MemberState.UNREVOKED: MemberRow(
        means="it was told to give something up, and has not said that it did",
        epoch="the one that it had",
        told="what it may keep",
        leaves="it names what it holds, and nothing of that is among it; after its rebalance timeout it is removed",
    ),
    MemberState.UNRELEASED: MemberRow(
        means="some of its share is still another member's",
        epoch="that of the target",
        told="what is free of its share",
        leaves="the rest is free, at its next heartbeat",
    ),
    MemberState.UNKNOWN: MemberRow(
        means="written by a later version",
        epoch="any",
        told="what its next step gives",
        leaves="its next heartbeat",
    ),
}
"""Every state of a member."""
