"""Patterns are matched against whole names, and what a client may not see is left out."""

from __future__ import annotations

from kaas.broker.regexes import matches, visible

NAMES = ["orders.1", "orders.2", "orders", "my-orders.1", "Größe", "__consumer_offsets"]


def test_a_pattern_matches_whole_names():
    """librdkafka sends patterns with `^`; `^orders` alone is no prefix here."""
    found = matches([r"orders\.[0-9]", "^orders", "^orders.*", "Gr.*e", "nothing"], NAMES)
    assert found == {
        r"orders\.[0-9]": ("orders.1", "orders.2"),
        "^orders": ("orders",),
        "^orders.*": ("orders", "orders.1", "orders.2"),
        "Gr.*e": ("Größe",),
        "nothing": (),
    }


def test_a_pattern_may_match_an_internal_topic():
    assert matches(["__consumer.*"], NAMES) == {"__consumer.*": ("__consumer_offsets",)}


def test_names_are_sorted_whatever_the_order_in_which_topics_came():
    assert matches([".*"], reversed(NAMES)) == {".*": tuple(sorted(NAMES))}


def test_what_cannot_be_a_pattern_is_left_out():
    assert matches(["(", "orders"], NAMES) == {"orders": ("orders",)}


def test_what_may_not_be_described_is_not_found():
    found = {"a": ("t", "u"), "b": ("u",)}
    assert visible(found, None) == found
    assert visible(found, lambda name: name == "t") == {"a": ("t",), "b": ()}
