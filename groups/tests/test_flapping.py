"""groups.flapping."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.flapping import LOOKED_AT, TIMES, WITHIN_MS, advice, flapping
from groups.testing.feed import rebalance_record
from kaas.feed.types import CAUSES

NOW = 1_800_000_000_000


def ended(cause, who="consumer-7", ago_ms=0, also=(), **detail):
    return rebalance_record(
        cause=cause, detail={"client_id": who, **detail}, ended_at=NOW - ago_ms, also=list(also), member_id=f"{who}-1"
    )


EXPIRED = {"silent_ms": 10_400, "timeout_ms": 10_000}


def test_who_falls_silent_again_and_again_is_named():
    expired = ended("session_expired", **EXPIRED)
    found = flapping([expired, ended("member_joined"), expired, expired], NOW)
    assert found is not None
    assert found.text == "3 of the last 4 rebalances: consumer-7 silent past its 10 s session."
    assert found.advice.startswith("Its process stopped answering for 10.4 s each time: look for pauses")
    assert (found.cause, found.who, found.count, found.of) == ("session_expired", "consumer-7", 3, 4)


def test_twice_is_no_flapping_and_neither_are_different_members():
    expired = ended("session_expired", **EXPIRED)
    assert flapping([expired, expired], NOW) is None
    assert flapping([ended("session_expired", who=f"c-{n}", **EXPIRED) for n in range(9)], NOW) is None


def test_joins_count_for_nothing():
    assert flapping([ended("member_joined") for _ in range(9)], NOW) is None


def test_what_is_long_ago_counts_for_nothing():
    expired = ended("session_expired", ago_ms=WITHIN_MS + 1)
    assert flapping([expired] * 5, NOW) is None


def test_what_came_while_a_rebalance_ran_counts_once():
    also = [{"cause": "member_left", "member_id": "b-1", "detail": {"client_id": "b"}}] * 2
    assert flapping([ended("member_joined", also=also)] * 2, NOW) is None
    found = flapping([ended("member_joined", also=also)] * 3, NOW)
    assert found is not None and found.text == "3 of the last 3 rebalances: b left."


def test_a_cause_without_a_member_is_named_without_one():
    found = flapping([ended("coordinator_moved", who=f"c-{n}") for n in range(3)], NOW)
    assert found is not None and (found.who, found.text) == ("", "3 of the last 3 rebalances: the coordinator moved.")


@pytest.mark.parametrize(
    ("cause", "detail", "part"),
    [
        ("session_expired", {}, "Its process stopped answering: look for pauses"),
        ("session_expired", {"silent_ms": 12_000}, "for 12 s: look"),
        ("rebalance_timeout", {}, "max.poll.interval.ms"),
        (
            "rebalance_timeout",
            {"phase": "reconciling"},
            "partitions that it was to give up: raise max.poll.interval.ms",
        ),
        ("member_left", {"reason": "consumer poll timeout has expired."}, "longer than max.poll.interval.ms"),
        ("member_left", {"reason": "the consumer is being closed"}, "group.instance.id"),
        ("static_member_replaced", {}, "group.instance.id"),
        ("protocol_changed", {}, "partition.assignment.strategy"),
    ],
)
def test_advice_names_the_setting_that_matters(cause, detail, part):
    assert part in advice(cause, detail)


def test_not_every_cause_needs_advice():
    assert advice("member_joined", {}) is None
    assert all(text is None or text.endswith(".") for text in (advice(cause, {}) for cause in CAUSES))


RECORDS = st.lists(
    st.builds(ended, st.sampled_from(CAUSES), st.sampled_from(["a", "b"]), st.integers(0, 2 * WITHIN_MS)), max_size=20
)


@given(RECORDS)
def test_a_verdict_counts_what_is_there(records):
    found = flapping(records, NOW)
    if found is None:
        return
    recent = [one for one in records[:LOOKED_AT] if NOW - one.ended_at <= WITHIN_MS]
    assert TIMES <= found.count <= found.of <= len(recent)
    assert sum(one.cause == found.cause for one in recent[: found.of]) >= found.count
