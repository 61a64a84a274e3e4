"""The uniform assignor takes the rule that the subscriptions ask for."""

from __future__ import annotations

from kaas.coordinator.modern.assignors import uniform, uniform_alike, uniform_mixed
from tests.coordinator.modern.assignors.asking import request


def test_members_that_subscribe_to_the_same_share_by_quota():
    asked = request({"T1": 7}, dict.fromkeys("AB", ("T1",)))
    assert uniform.assign(asked) == uniform_alike.assign(asked) != uniform_mixed.assign(asked)


def test_members_that_subscribe_to_different_topics_share_topic_by_topic():
    asked = request({"T1": 3, "T3": 6}, {"A": ["T1", "T3"], "B": ["T3"]})
    assert uniform.assign(asked) == uniform_mixed.assign(asked)
