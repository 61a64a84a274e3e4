"""Names in Redis."""

from __future__ import annotations

from kaas.feed import keys


def test_everything_of_a_cluster_stands_under_its_name() -> None:
    made = {make("c") for make in (keys.groups, keys.events, keys.topics, keys.brokers, keys.pulse)}
    assert len(made) == 5 and all(name.startswith("kaas:c:") for name in made)
