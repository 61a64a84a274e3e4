"""groups.causes."""

from __future__ import annotations

import pytest

from groups.causes import cause_text, seconds
from kaas.feed.types import CAUSES

WHO = {"client_id": "checkout-3"}


@pytest.mark.parametrize(
    ("cause", "detail", "sentence"),
    [
        ("member_joined", WHO, "checkout-3 joined."),
        ("member_joined", {**WHO, "reason": "need to re-join"}, "checkout-3 joined: need to re-join."),
        (
            "member_left",
            {**WHO, "reason": "the consumer is being closed."},
            "checkout-3 left: the consumer is being closed.",
        ),
        (
            "member_removed",
            {**WHO, "reason": "member was removed by an admin"},
            "checkout-3 was removed by an operator.",
        ),
        ("member_removed", {**WHO, "by": "ann"}, "checkout-3 was removed by ann."),
        (
            "session_expired",
            {**WHO, "silent_ms": 10_450, "timeout_ms": 10_000},
            "checkout-3 was silent for 10.4 s (session timeout 10 s).",
        ),
        ("session_expired", WHO, "checkout-3 was silent."),
        (
            "rebalance_timeout",
            {**WHO, "timeout_ms": 500},
            "checkout-3 did not rejoin within its rebalance timeout of 500 ms.",
        ),
        (
            "rebalance_timeout",
            {**WHO, "timeout_ms": 500, "phase": "reconciling"},
            "checkout-3 did not give up its partitions within its rebalance timeout of 500 ms.",
        ),
        ("subscription_changed", {**WHO, "topics": ["a", "b"]}, "checkout-3 changed its subscription to a, b."),
        (
            "subscription_changed",
            {**WHO, "after": ["a"], "regex": "b.*"},
            "checkout-3 changed its subscription to a and the pattern b.*.",
        ),
        ("subscription_changed", {**WHO, "before": ["a"], "after": []}, "checkout-3 changed its subscription."),
        (
            "topic_changed",
            {"topics": ["b1"], "patterns": ["b.*"]},
            "b.* matches other topics than before: b1.",
        ),
        ("static_member_replaced", {"instance_id": "i1"}, "A new process took over the static member i1."),
        ("leader_rejoined", WHO, "The leader checkout-3 asked for a new assignment."),
        ("partitions_changed", {"topics": ["a"]}, "The number of partitions changed: a."),
        ("topic_changed", {}, "A topic was created or deleted: one that the group reads."),
        (
            "coordinator_moved",
            {"assignment_version": 7},
            "The coordinator moved to another broker at assignment version 7.",
        ),
        ("assignment_failed", {"reason": "boom"}, "The leader's assignment failed: boom."),
        ("protocol_changed", WHO, "checkout-3 changed its assignment protocol."),
        ("something_new", WHO, "Something new."),
    ],
)
def test_each_cause_is_one_sentence(cause, detail, sentence):
    assert cause_text(cause, "checkout-3-uuid", detail) == sentence


@pytest.mark.parametrize("cause", CAUSES)
def test_every_cause_has_a_sentence_even_without_details(cause):
    sentence = cause_text(cause, None, {})
    assert sentence.endswith(".") and "None" not in sentence and sentence != cause.replace("_", " ").capitalize() + "."


def test_a_member_is_named_as_operators_know_it():
    assert cause_text("member_joined", "m-1", {"instance_id": "i", "client_id": "c"}) == "i joined."
    assert cause_text("member_joined", "m-1", {"client_id": ""}) == "m-1 joined."
    assert cause_text("member_joined", None, {}) == "A member joined."


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0, "0 ms"), (999, "999 ms"), (1_000, "1 s"), (1_500, "1.5 s"), (45_000, "45 s"), (300_000, "300 s")],
)
def test_durations_read_well(ms, text):
    assert seconds(ms) == text
