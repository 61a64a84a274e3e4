"""The table of served APIs: what clients of all kinds look for in it."""

from __future__ import annotations

import pytest

from kaas.wire.apis import APIS, PRODUCE, Api


def test_the_table_is_by_key_and_in_order():
    assert list(APIS) == sorted(APIS)
    assert all(key == api.key for key, api in APIS.items())
    assert len({api.name for api in APIS.values()}) == len(APIS)
    assert all(api.purpose and api.min_version <= api.max_version for api in APIS.values())


@pytest.mark.parametrize(
    ("key", "used"), [(11, 5), (14, 3), (12, 3), (13, 3), (8, 5), (9, 4), (10, 2), (18, 2), (3, 6), (1, 11), (2, 3)]
)
def test_what_kafkajs_uses_is_served(key, used):
    """It takes the lower of its own and the broker's highest version, and ignores the lowest."""
    assert APIS[key].serves(used)


@pytest.mark.parametrize("key", [10, 11, 12, 13, 14])
def test_librdkafka_finds_a_balanced_consumer(key):
    """It looks for version 0 of these.

    https://issues.apache.org/jira/browse/KAFKA-18659
    https://issues.apache.org/jira/browse/KAFKA-19444
    """
    assert APIS[key].lowest_advertised == 0


def test_produce_is_advertised_from_0_and_served_from_3():
    """KAFKA-18659: librdkafka before 2.11 looks for version 0 to know which codecs there are."""
    assert PRODUCE.lowest_advertised == 0
    assert not PRODUCE.serves(2) and PRODUCE.serves(3)


def test_a_version_is_served_within_its_bounds():
    api = Api(key=1, name="x", min_version=2, max_version=4, purpose="test")
    assert [api.serves(v) for v in (1, 2, 4, 5)] == [False, True, True, False]
    assert api.lowest_advertised == 2
