"""Features are told at the level that is implemented."""

from kaas.broker.features import FEATURES

IN_KAFKA = {"group.version": (0, 1), "transaction.version": (0, 2)}
"""What Apache Kafka 4.2 knows: name to lowest and highest level."""


def test_each_feature_is_one_of_kafkas_at_a_level_that_it_has():
    for feature in FEATURES:
        lowest, highest = IN_KAFKA[feature.name]
        assert lowest <= feature.min_level <= feature.level <= feature.max_level <= highest


def test_each_feature_is_named_once():
    assert len({feature.name for feature in FEATURES}) == len(FEATURES)
