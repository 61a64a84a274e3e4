"""The account of a rebalance says at its end how it went."""

from __future__ import annotations

from kaas.coordinator.account import Account
from kaas.coordinator.announcements import Cause, RebalanceCompleted


def test_the_end_of_a_rebalance_says_why_how_long_and_what_was_before_and_after():
    cause, further = Cause(kind="member_joined", member_id="a"), Cause(kind="member_left", member_id="b")
    account = Account(
        cause=cause, started_ms=1_000, phase="syncing", phase_since_ms=1_300, phases=[("joining", 300)], also=[further]
    )
    told = account.completed(
        1_450,
        50_000,
        outcome="stable",
        generations=(3, 4),
        members=(1, 2),
        before={"b": b"old"},
        after={"a": b"new"},
        protocol_type="consumer",
        kind="classic",
    )
    assert told == RebalanceCompleted(
        started_at=51_000,
        ended_at=51_450,
        phases=(("joining", 300), ("syncing", 150)),
        cause=cause,
        also=(further,),
        outcome="stable",
        generation_before=3,
        generation_after=4,
        before={"b": b"old"},
        after={"a": b"new"},
        members_before=1,
        members_after=2,
        protocol_type="consumer",
    )
