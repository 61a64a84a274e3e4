"""Which quota counts, and what is left of it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.broker.security import quotas as module
from kaas.broker.security.quotas import DEFAULT, Bucket, Measure, Quota, Quotas, parse
from tests.support.laws import law

WINDOW_S = 10.0


def rate_of(quotas, user="alice", client_id="app", measure=Measure.REQUESTS):
    bucket = Quotas(quotas, WINDOW_S).bucket(measure, user, client_id, 0.0)
    return None if bucket is None else bucket.rate


def quota(user=None, client_id=None, rate=1.0):
    return Quota(user=user, client_id=client_id, request_rate=rate)


BY_WEIGHT = [
    ("alice", "app"),
    ("alice", DEFAULT),
    ("alice", None),
    (DEFAULT, "app"),
    (DEFAULT, DEFAULT),
    (DEFAULT, None),
    (None, "app"),
    (None, DEFAULT),
]


@pytest.mark.parametrize("first", range(len(BY_WEIGHT)))
def test_the_most_special_quota_counts(first):
    quotas = [quota(*entity, rate=number + 1.0) for number, entity in enumerate(BY_WEIGHT)][first:]
    assert rate_of(quotas[::-1]) == first + 1


def test_who_has_none_is_not_limited():
    assert rate_of([quota("bob"), quota(None, "other")]) is None
    assert rate_of([quota("alice")], measure=Measure.FETCHED_BYTES) is None
    assert not Quotas([], WINDOW_S) and Quotas([quota("bob")], WINDOW_S)


def test_a_default_is_for_each_by_itself():
    quotas = Quotas([quota(DEFAULT)], WINDOW_S)
    alice, bob = (quotas.bucket(Measure.REQUESTS, user, "app", 0.0) for user in ("alice", "bob"))
    assert alice is not bob and alice is quotas.bucket(Measure.REQUESTS, "alice", "other", 0.0)


def test_what_was_used_comes_back_at_the_rate():
    bucket = Bucket(5.0, WINDOW_S, 0.0)
    assert bucket.take(50, 0.0) == 0.0
    assert bucket.take(10, 0.0) == 2.0
    assert bucket.wait_s(1.5) == 0.5 and bucket.wait_s(2.0) == 0.0
    assert not bucket.is_full(11.9) and bucket.is_full(12.0)


def test_no_more_than_the_windows_is_kept():
    bucket = Bucket(5.0, WINDOW_S, 0.0)
    assert bucket.take(55, 1_000.0) == 1.0


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 100)), min_size=1, max_size=30))
@law
def test_who_waits_as_told_never_takes_more_than_rate_and_windows_allow(steps):
    bucket, now_s, taken = Bucket(10.0, WINDOW_S, 0.0), 0.0, 0.0
    for pause_s, amount in steps:
        now_s += pause_s + bucket.wait_s(now_s + pause_s)
        assert taken <= 10.0 * (WINDOW_S + now_s) + 1e-3
        bucket.take(amount, now_s)
        taken += amount


def test_buckets_that_are_full_again_are_forgotten(monkeypatch):
    monkeypatch.setattr(module, "MOST_BUCKETS", 3)
    quotas = Quotas([quota(None, DEFAULT)], WINDOW_S)
    busy = quotas.bucket(Measure.REQUESTS, "alice", "busy", 0.0)
    busy.take(5, 0.0)
    for number in range(5):
        quotas.bucket(Measure.REQUESTS, "alice", f"idle {number}", 0.0)
    assert len(quotas._buckets) <= 3 and quotas.bucket(Measure.REQUESTS, "bob", "busy", 0.0) is busy


def test_a_file_of_quotas_is_read():
    (read,) = parse(json.dumps({"quotas": [{"user": "alice", "producer_byte_rate": 10}]}).encode())
    assert (read.user, read.client_id, read.producer_byte_rate, read.request_rate) == ("alice", None, 10.0, None)


@pytest.mark.parametrize(
    "row", [{}, {"user": "a", "request_rate": 0}, {"user": "a", "request_rate": -1}, {"user": "a", "rate": 1}]
)
def test_a_quota_that_cannot_be_is_refused(row):
    with pytest.raises(ValueError):
        parse(json.dumps({"quotas": [row]}).encode())
