"""The checks of a heartbeat, in their order. Where several faults meet, the test says which one is told."""

import pytest

from tests.conformance.oracle.wire import ms

NOWHERE = "no-such-topic"
BAD_REGEX = {"subscribed_topic_regex": "("}
BAD_ASSIGNOR = {"server_assignor": "nobody's"}


@pytest.mark.parametrize(
    "fault",
    [
        {"member_id": ""},
        {"group_id": ""},
        {"instance_id": ""},
        {"rack_id": ""},
        {"rebalance_timeout": -1},
        {"topic_partitions": None},
        {"topic_partitions": [{"topic_id": None, "partitions": [0]}]},
        {"subscribed_topic_names": None},
    ],
    ids=str,
)
def test_a_malformed_join_is_refused_and_makes_no_group(cg, fault):
    cg.member(NOWHERE).join(42, **fault)
    cg.describe(error=69)


@pytest.mark.parametrize(
    "fault",
    [
        {"member_id": ""},
        {"instance_id": ""},
        {"rack_id": ""},
        {"member_epoch": -2},
        {"member_epoch": -3},
        {"member_epoch": -1, "member_id": ""},
        {"member_epoch": -3, "member_id": "who"},
    ],
    ids=str,
)
def test_a_malformed_heartbeat_is_told_before_an_unknown_assignor(cg, fault):
    a = cg.joined(NOWHERE)
    a.beat(42, **BAD_ASSIGNOR, **fault)
    assert (a.beat().member_epoch, cg.seen()) == (1, ("Stable", 1, 1))


@pytest.mark.parametrize(
    "code, faults",
    [
        (112, {"member_epoch": 4, "member_id": "who", **BAD_ASSIGNOR}),
        (25, {"member_epoch": 4, "member_id": "who", **BAD_REGEX}),
        (25, {"member_epoch": 4, "instance_id": "who", **BAD_REGEX}),
        (82, {"member_epoch": 4, "member_id": "who", "instance_id": "i", **BAD_REGEX}),
        (110, {"member_epoch": 4, **BAD_REGEX}),
        (128, {"subscribed_topic_names": ["other"], **BAD_REGEX}),
    ],
    ids=str,
)
def test_of_several_faults_the_first_check_is_told_and_nothing_changes(cg, code, faults):
    a = cg.joined(NOWHERE, instance="i")
    a.beat(code, **faults)
    shown = cg.shown(a)
    assert (shown.subscribed_topic_names, shown.subscribed_topic_regex or "", shown.member_epoch) == ((NOWHERE,), "", 1)
    assert cg.seen() == ("Stable", 1, 1)


def test_an_unknown_assignor_is_told_before_an_unknown_group(cg):
    a = cg.member(NOWHERE)
    a.beat(112, member_epoch=4, **BAD_ASSIGNOR)
    a.join(112, **BAD_ASSIGNOR)
    a.join(112, server_assignor="")
    cg.describe(error=69)


def test_a_refused_heartbeat_has_a_message_and_nothing_else(cg):
    a = cg.joined(NOWHERE)
    answer = a.beat(110, member_epoch=2)
    assert answer.error_message
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval, answer.assignment) == (
        None,
        0,
        ms(0),
        None,
    )


def test_version_0_has_the_broker_make_the_member_id(cg, topic):
    t = topic()
    a, b = cg.member(t, id=""), cg.member(t, id="")
    a.id, b.id = a.join(version=0).member_id, b.join(version=0).member_id
    assert a.id and b.id and a.id != b.id
    assert a.beat(version=0).member_id == a.id
    a.beat(42, version=0, member_id="")
