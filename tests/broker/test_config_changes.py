"""What a request to change settings means."""

import pytest

from kaas.broker.config_changes import Operation, Step, check_broker, check_group, incremental, whole
from kaas.broker.group_settings import GROUP_SETTINGS
from kaas.errors import ErrorCode, KafkaError

SET, DELETE, APPEND, SUBTRACT = Operation
LISTS = {"list": "a,b", "empty": ""}


def changed(*steps):
    return incremental([Step(*step) for step in steps], LISTS.__getitem__, LISTS.__contains__)


@pytest.mark.parametrize(
    ("step", "value"),
    [
        (("x", SET, "1"), "1"),
        (("x", SET, ""), ""),
        (("x", DELETE, None), None),
        (("x", DELETE, "whatever"), None),
        (("list", APPEND, "c"), "a,b,c"),
        (("list", APPEND, "b,c"), "a,b,c"),
        (("empty", APPEND, "c"), "c"),
        (("list", SUBTRACT, "a"), "b"),
        (("list", SUBTRACT, "c"), "a,b"),
        (("list", SUBTRACT, "a,b"), ""),
    ],
)
def test_an_operation_gives_the_new_value(step, value):
    assert changed(step) == {step[0]: value}


def test_several_settings_are_changed_at_once():
    assert changed(("x", SET, "1"), ("y", DELETE, None)) == {"x": "1", "y": None}


@pytest.mark.parametrize(
    ("steps", "code", "words"),
    [
        ([("x", SET, "1"), ("x", DELETE, None)], ErrorCode.INVALID_REQUEST, "duplicate"),
        ([("x", SET, None)], ErrorCode.INVALID_REQUEST, "Null value"),
        ([("list", APPEND, None)], ErrorCode.INVALID_REQUEST, "Null value"),
        ([("x", 9, "1")], ErrorCode.INVALID_REQUEST, "Unknown operation"),
        ([("x", APPEND, "1")], ErrorCode.INVALID_CONFIG, "Can't APPEND to key x because its type is not LIST"),
        ([("x", SUBTRACT, "1")], ErrorCode.INVALID_CONFIG, "Can't SUBTRACT"),
    ],
)
def test_what_cannot_be_meant_is_refused_as_apache_does(steps, code, words):
    with pytest.raises(KafkaError, match=words) as refused:
        changed(*steps)
    assert refused.value.code is code


def test_a_whole_set_takes_back_what_it_does_not_name():
    assert whole([("x", "1")], {"x": "0", "y": "2"}) == {"x": "1", "y": None}
    assert whole([], {"y": "2"}) == {"y": None}


@pytest.mark.parametrize("values", [[("x", None)], [("x", "1"), ("x", "2")]])
def test_a_whole_set_that_cannot_be_is_refused(values):
    with pytest.raises(KafkaError) as refused:
        whole(values, {})
    assert refused.value.code is ErrorCode.INVALID_REQUEST


def test_a_broker_may_be_changed_where_a_setting_is_dynamic():
    check_broker({"group.max.size": "3", "num.partitions": None, "listeners": None, "no.such": None})


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"listeners": "x"}, ErrorCode.INVALID_REQUEST, "Cannot update these configs dynamically: listeners"),
        ({"group.max.size": "many"}, ErrorCode.INVALID_REQUEST, "Invalid value"),
        ({"max.connections.per.ip.overrides": "x"}, ErrorCode.INVALID_REQUEST, "Invalid value"),
        ({"no.such.thing": "1"}, ErrorCode.INVALID_CONFIG, "there is no setting"),
        ({"listener.name.x.ssl.client.auth": "none"}, ErrorCode.INVALID_REQUEST, "Cannot update"),
    ],
)
def test_a_broker_may_not_be_changed_otherwise(changes, code, words):
    with pytest.raises(KafkaError, match=words) as refused:
        check_broker(changes)
    assert refused.value.code is code


def test_a_group_has_settings_of_its_own():
    check_group({"consumer.session.timeout.ms": "9", "no.such": None}, GROUP_SETTINGS)
    for changes in ({"no.such": "1"}, {"consumer.session.timeout.ms": "soon"}):
        with pytest.raises(KafkaError) as refused:
            check_group(changes, GROUP_SETTINGS)
        assert refused.value.code is ErrorCode.INVALID_CONFIG
