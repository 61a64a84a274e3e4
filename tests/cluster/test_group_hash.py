"""The hash tier against its vectors, and what a broker that is down moves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.cluster.group_hash import broker_for, fnv1a
from tests.support.laws import law

ROWS = json.loads((Path(__file__).parent / "vectors" / "group_hash.json").read_text())["rows"]
THREE, TWELVE = range(3), range(12)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: repr(row["group"][:30]))
def test_every_component_agrees_on_the_broker_of_a_group(row):
    """https://github.com/confluentinc/librdkafka/issues/2944"""
    group = row["group"]
    assert f"{fnv1a(group):08x}" == row["hash"]
    assert fnv1a(group) % 3 == row["slot_of_3"]
    assert broker_for(group, THREE, THREE) == row["broker_of_3_all_alive"]
    for gone in THREE:
        assert broker_for(group, THREE, set(THREE) - {gone}) == row[f"broker_of_3_without_{gone}"]
    assert broker_for(group, TWELVE, TWELVE) == row["broker_of_12_all_alive"]
    assert broker_for(group, TWELVE, set(TWELVE) - {2, 10}) == row["broker_of_12_without_2_and_10"]


@given(st.text(), st.sets(st.integers(0, 50), min_size=1), st.data())
@law
def test_a_broker_that_is_down_moves_only_its_own_groups(group, registered, data):
    """K4: the hash was taken modulo the living ones, so each change moved most groups."""
    before = broker_for(group, registered, registered)
    gone = data.draw(st.sampled_from(sorted(registered)))
    after = broker_for(group, registered, registered - {gone})
    assert after == (before if before != gone else after)
    assert after is None or after in registered - {gone}


@given(st.text(), st.lists(st.integers(0, 50), min_size=1, unique=True), st.randoms(use_true_random=False))
@law
def test_the_order_in_which_brokers_are_named_does_not_matter(group, brokers, dice):
    shuffled = list(brokers)
    dice.shuffle(shuffled)
    assert broker_for(group, brokers, brokers) == broker_for(group, shuffled, shuffled)


def test_brokers_are_in_the_order_of_their_numbers():
    brokers = [10, 9, 100]
    assert {broker_for(f"g{n}", brokers, brokers) for n in range(50)} == {9, 10, 100}
    assert broker_for("", brokers, brokers) == sorted(brokers)[fnv1a("") % 3]


def test_nobody_alive_is_nobody_and_strangers_do_not_count():
    assert broker_for("g", [1, 2], []) is None
    assert broker_for("g", [], [1]) is None
    assert broker_for("g", [1], [1, 2, 3]) == 1
