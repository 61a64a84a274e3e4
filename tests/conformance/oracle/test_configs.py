"""Settings as an operator describes and changes them.

DescribeConfigs 1-4, AlterConfigs 0-2, IncrementalAlterConfigs 0-1, for topics, brokers and groups.
"""

import uuid

import pytest

from tests.conformance.oracle.calls import ask, create_topic
from tests.conformance.oracle.wire import Client
from tests.support.waiting import until

TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
DYNAMIC_TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT, DEFAULT, DYNAMIC_GROUP = 1, 2, 3, 5, 8
UNSET = {DYNAMIC_DEFAULT, 4, DEFAULT}
"""Where a value comes from that nobody set on the topic: the brokers, or the default."""
TYPES = {"retention.ms": 5, "cleanup.policy": 7, "min.insync.replicas": 3, "preallocate": 1, "compression.type": 2}


@pytest.fixture(scope="module")
def broker(bootstrap):
    """The number of the one broker, as a name."""
    with Client(bootstrap) as c:
        return str(ask(c, "Metadata", 1, topics=[]).brokers[0].node_id)


def describe(c, kind, name, *keys, version=4, **more):
    rows = [{"resource_type": kind, "resource_name": name, "configuration_keys": list(keys) or None}]
    (result,) = ask(c, "DescribeConfigs", version, resources=rows, **{"include_synonyms": True, **more}).results
    return result


def shown(c, kind, name, key):
    """Value and source of one setting."""
    (row,) = describe(c, kind, name, key).configs
    return row.value, row.config_source


def alter(c, kind, name, *steps, version=1, validate_only=False):
    configs = [{"name": key, "config_operation": operation, "value": value} for key, operation, value in steps]
    rows = [{"resource_type": kind, "resource_name": name, "configs": configs}]
    answer = ask(c, "IncrementalAlterConfigs", version, resources=rows, validate_only=validate_only)
    return int(answer.responses[0].error_code)


def replace(c, kind, name, values, version=2):
    configs = [{"name": key, "value": value} for key, value in values.items()]
    rows = [{"resource_type": kind, "resource_name": name, "configs": configs}]
    answer = ask(c, "AlterConfigs", version, resources=rows, validate_only=False)
    return int(answer.responses[0].error_code)


@pytest.fixture
def topic(c, ready):
    """A topic without settings of its own."""
    return create_topic(c)


# Describe


@pytest.mark.parametrize("version", range(1, 5))
def test_a_setting_is_described_with_its_source_and_its_type(c, topic, version):
    alter(c, TOPIC, topic, ("retention.ms", SET, "7000"))
    until(lambda: shown(c, TOPIC, topic, "retention.ms") == ("7000", DYNAMIC_TOPIC))
    result = describe(c, TOPIC, topic, *TYPES, version=version)
    rows = {row.name: row for row in result.configs}
    assert result.error_code == 0 and rows.keys() == TYPES.keys()
    assert {row.config_source for name, row in rows.items() if name != "retention.ms"} <= UNSET
    assert not any(row.is_sensitive or row.read_only for row in rows.values())
    assert version < 3 or {name: row.config_type for name, row in rows.items()} == TYPES
    assert rows["retention.ms"].synonyms[0].source == DYNAMIC_TOPIC


def test_names_that_are_no_settings_are_left_out(c, topic):
    assert [row.name for row in describe(c, TOPIC, topic, "retention.ms", "no.such").configs] == ["retention.ms"]


@pytest.mark.parametrize("asked", [False, True])
def test_synonyms_and_documentation_come_when_they_are_asked_for(c, topic, asked):
    (row,) = describe(c, TOPIC, topic, "segment.bytes", include_synonyms=asked, include_documentation=asked).configs
    assert (bool(row.documentation), bool(row.synonyms)) == (asked, asked)


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [(TOPIC, "no-such-topic", 3), (TOPIC, "two words", 17), (BROKER, "77", 42), (BROKER, "x", 42), (99, "x", 42)],
)
def test_a_resource_that_is_not_there_is_an_error_of_its_own(c, ready, kind, name, code):
    result = describe(c, kind, name)
    assert (int(result.error_code), result.configs) == (code, ())


def test_a_group_that_nobody_knows_has_settings(c, ready):
    names = {row.name for row in describe(c, GROUP, f"new-{uuid.uuid4().hex[:8]}").configs}
    assert {"consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"} <= names


# Change


@pytest.mark.parametrize("version", range(2))
def test_a_setting_of_a_topic_is_set_and_taken_back(c, topic, version):
    default = shown(c, TOPIC, topic, "retention.ms")
    assert alter(c, TOPIC, topic, ("retention.ms", SET, "7000"), version=version) == 0
    until(lambda: shown(c, TOPIC, topic, "retention.ms") == ("7000", DYNAMIC_TOPIC))
    assert alter(c, TOPIC, topic, ("retention.ms", DELETE, None), version=version) == 0
    until(lambda: shown(c, TOPIC, topic, "retention.ms") == default)


def test_items_are_added_to_a_list_and_taken_from_it(c, topic):
    assert alter(c, TOPIC, topic, ("cleanup.policy", APPEND, "compact")) == 0
    until(lambda: shown(c, TOPIC, topic, "cleanup.policy") == ("delete,compact", DYNAMIC_TOPIC))
    assert alter(c, TOPIC, topic, ("cleanup.policy", SUBTRACT, "delete")) == 0
    until(lambda: shown(c, TOPIC, topic, "cleanup.policy") == ("compact", DYNAMIC_TOPIC))


def test_a_setting_of_one_broker_counts_before_that_of_all(c, ready, broker):
    name = "log.cleaner.delete.retention.ms"
    assert alter(c, BROKER, "", (name, SET, "7000")) == 0
    until(lambda: shown(c, BROKER, broker, name) == ("7000", DYNAMIC_DEFAULT))
    assert alter(c, BROKER, broker, (name, SET, "8000")) == 0
    until(lambda: shown(c, BROKER, broker, name) == ("8000", DYNAMIC_BROKER))
    sources = [one.source for one in describe(c, BROKER, broker, name).configs[0].synonyms]
    assert sources == [DYNAMIC_BROKER, DYNAMIC_DEFAULT, DEFAULT]
    for named in (broker, ""):
        assert alter(c, BROKER, named, (name, DELETE, None)) == 0
    until(lambda: shown(c, BROKER, broker, name)[1] == DEFAULT)


def test_a_setting_of_a_group_is_set_before_anybody_joins(c, ready):
    group = f"new-{uuid.uuid4().hex[:8]}"
    assert alter(c, GROUP, group, ("consumer.session.timeout.ms", SET, "50000")) == 0
    until(lambda: shown(c, GROUP, group, "consumer.session.timeout.ms") == ("50000", DYNAMIC_GROUP))
    assert alter(c, GROUP, group, ("consumer.session.timeout.ms", DELETE, None)) == 0
    until(lambda: shown(c, GROUP, group, "consumer.session.timeout.ms") == ("45000", DEFAULT))


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (("retention.ms", SET, "soon"), 40),
        (("retention.ms", SET, None), 42),
        (("no.such", SET, "1"), 40),
        (("no.such", DELETE, None), 0),
        (("retention.ms", APPEND, "1"), 40),
        (("retention.ms", SUBTRACT, "1"), 40),
        (("cleanup.policy", SET, "shred"), 40),
        (("cleanup.policy", APPEND, "shred"), 40),
    ],
)
def test_what_cannot_be_set_on_a_topic_is_refused(c, topic, step, code):
    assert alter(c, TOPIC, topic, step) == code
    assert shown(c, TOPIC, topic, "retention.ms")[1] in UNSET


def test_a_setting_that_is_named_twice_is_an_invalid_request(c, topic):
    assert alter(c, TOPIC, topic, ("retention.ms", SET, "1"), ("retention.ms", SET, "2")) == 42


def test_a_resource_is_changed_as_a_whole_or_not_at_all(c, topic):
    assert alter(c, TOPIC, topic, ("segment.bytes", SET, "2000000"), ("retention.ms", SET, "soon")) == 40
    assert shown(c, TOPIC, topic, "segment.bytes")[1] in UNSET


def test_what_is_only_to_be_checked_changes_nothing(c, topic):
    assert alter(c, TOPIC, topic, ("retention.ms", SET, "7000"), validate_only=True) == 0
    assert alter(c, TOPIC, topic, ("retention.ms", SET, "soon"), validate_only=True) == 40
    assert shown(c, TOPIC, topic, "retention.ms")[1] in UNSET


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "no-such-topic", 3),
        (TOPIC, "", 42),
        (BROKER, "77", 42),
        (BROKER, "x", 42),
        (GROUP, "", 42),
        (99, "x", 42),
    ],
)
def test_a_resource_that_is_not_there_is_not_changed(c, ready, kind, name, code):
    key = {TOPIC: "retention.ms", GROUP: "consumer.session.timeout.ms"}.get(kind, "log.cleaner.delete.retention.ms")
    assert alter(c, kind, name, (key, SET, "50000")) == code


@pytest.mark.parametrize(
    ("key", "value"), [("socket.request.max.bytes", "1000000"), ("group.consumer.session.timeout.ms", "50000")]
)
def test_a_setting_that_is_fixed_at_the_start_is_refused(c, ready, broker, key, value):
    assert alter(c, BROKER, broker, (key, SET, value)) == 42


def test_a_value_that_a_broker_cannot_have_is_refused(c, ready, broker):
    assert alter(c, BROKER, broker, ("log.cleaner.delete.retention.ms", SET, "soon")) == 42


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("no.such", "1"),
        ("consumer.session.timeout.ms", "soon"),
        ("consumer.session.timeout.ms", "44999"),
        ("consumer.session.timeout.ms", "60001"),
        ("consumer.heartbeat.interval.ms", "4999"),
        ("consumer.heartbeat.interval.ms", "15001"),
    ],
)
def test_what_a_group_cannot_have_is_refused(c, ready, key, value):
    assert alter(c, GROUP, f"new-{uuid.uuid4().hex[:8]}", (key, SET, value)) == 40


def test_a_resource_that_is_named_twice_is_changed_by_neither_row(c, topic):
    configs = [{"name": "retention.ms", "config_operation": SET, "value": "7000"}]
    rows = [{"resource_type": TOPIC, "resource_name": topic, "configs": configs}] * 2
    answer = ask(c, "IncrementalAlterConfigs", 1, resources=rows, validate_only=False)
    assert {int(row.error_code) for row in answer.responses} == {42}
    assert shown(c, TOPIC, topic, "retention.ms")[1] in UNSET


# The older way: the whole set


@pytest.mark.parametrize("version", range(3))
def test_the_whole_set_of_a_topic_is_replaced(c, topic, version):
    alter(c, TOPIC, topic, ("retention.ms", SET, "7000"))
    assert replace(c, TOPIC, topic, {"segment.bytes": "2000000"}, version) == 0
    until(lambda: shown(c, TOPIC, topic, "segment.bytes") == ("2000000", DYNAMIC_TOPIC))
    until(lambda: shown(c, TOPIC, topic, "retention.ms")[1] in UNSET)


@pytest.mark.parametrize(("values", "code"), [({"retention.ms": None}, 42), ({"retention.ms": "x"}, 40)])
def test_a_whole_set_that_cannot_be_is_refused(c, topic, values, code):
    assert replace(c, TOPIC, topic, values) == code
