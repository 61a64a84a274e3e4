"""The states of a classic group, as a table: what each replies, how it is entered and where it goes.

Job: the table is the documentation; the code looks its answers up here, and the diagram in docs is drawn from it.
Rules: `transition_to` in `group` refuses an exit that is not in the table. A reply of null means that the request goes on to
what its module does in that state (park, answer from what is known, rebalance).
Must not know: members, timers.
Source: Apache Kafka 4.2 `ClassicGroupState`; heartbeats while completing KAFKA-10134; commits while completing are refused
because an assignment that is about to be handed out may have taken the partition away.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from kaas.errors import ErrorCode


class State(Enum):
    """The value is Kafka's word for it."""

    __hash__ = object.__hash__  # the table is looked up at each request; Enum's own hash is a call in Python

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One state. Replies are those of a request whose group, member and generation are right.

    `commit` is the reply to a member; without members only commits of nobody are taken (`offsets`).
    """

    enters: str
    heartbeat: ErrorCode
    sync: ErrorCode | None
    commit: ErrorCode
    exits: tuple[State, ...]
    leaves: str


TABLE: dict[State, Row] = {
    State.EMPTY: Row(
        enters="created by a join or a commit; a join phase ended with nobody; the last member left",
        heartbeat=ErrorCode.UNKNOWN_MEMBER_ID,
        sync=ErrorCode.UNKNOWN_MEMBER_ID,
        commit=ErrorCode.UNKNOWN_MEMBER_ID,
        exits=(State.PREPARING_REBALANCE, State.DEAD),
        leaves="somebody joins; deleted, or its last offset expired",
    ),
    State.PREPARING_REBALANCE: Row(
        enters="a join, a leave or an expiry changed the group",
        heartbeat=ErrorCode.REBALANCE_IN_PROGRESS,
        sync=ErrorCode.REBALANCE_IN_PROGRESS,
        commit=ErrorCode.NONE,
        exits=(State.COMPLETING_REBALANCE, State.EMPTY, State.DEAD),
        leaves="all members came back, or the rebalance timeout ran out; nobody was left",
    ),
    State.COMPLETING_REBALANCE: Row(
        enters="the join phase is done: a new generation, a protocol, a leader",
        heartbeat=ErrorCode.NONE,
        sync=None,
        commit=ErrorCode.REBALANCE_IN_PROGRESS,
        exits=(State.STABLE, State.PREPARING_REBALANCE, State.DEAD),
        leaves="the leader's assignment is durable; a change, a leave or an expiry starts over",
    ),
    State.STABLE: Row(
        enters="the leader's assignment is durable; loaded from disk with members",
        heartbeat=ErrorCode.NONE,
        sync=None,
        commit=ErrorCode.NONE,
        exits=(State.PREPARING_REBALANCE, State.DEAD),
        leaves="a change, a leave or an expiry",
    ),
    State.DEAD: Row(
        enters="deleted, expired, or moved to another broker",
        heartbeat=ErrorCode.COORDINATOR_NOT_AVAILABLE,
        sync=ErrorCode.COORDINATOR_NOT_AVAILABLE,
        commit=ErrorCode.COORDINATOR_NOT_AVAILABLE,
        exits=(),
        leaves="never: a group of the same name is another one",
    ),
}
"""Every state."""
