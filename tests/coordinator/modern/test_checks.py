"""Of several faults of a heartbeat the first is told, and nothing has changed."""

from __future__ import annotations

import pytest

from kaas.coordinator.modern.checks import check_epoch
from kaas.coordinator.modern.group import Member
from tests.support.consumers import Consumers

T = b"t" * 16
NOBODYS = {"assignor": "nobody's"}
BAD_REGEX = {"regex": "("}


@pytest.mark.parametrize(
    "fault",
    [
        {"member_id": ""},
        {"group_id": ""},
        {"instance_id": ""},
        {"rack_id": ""},
        {"rebalance_timeout_ms": -1},
        {"owned": None},
        {"owned": {T: (0,)}},
        {"topics": None},
    ],
    ids=str,
)
def test_a_malformed_join_is_refused_and_makes_no_group(fault):
    consumers = Consumers()
    one = consumers.consumer("t")
    assert one.joins(**fault) == 42
    assert one.asked.answer.message and not consumers.core.groups


@pytest.mark.parametrize(
    "fault",
    [
        {"member_id": ""},
        {"instance_id": ""},
        {"rack_id": ""},
        {"epoch": -2},
        {"epoch": -3},
        {"epoch": -1, "member_id": ""},
        {"epoch": -3, "member_id": "who"},
    ],
    ids=str,
)
def test_a_malformed_heartbeat_is_told_before_an_unknown_assignor(fault):
    consumers = Consumers()
    a = consumers.joined("t")
    assert a.beats(**NOBODYS, **fault) == 42
    assert (a.beats(), consumers.seen) == (0, ("Stable", 1, 1))


@pytest.mark.parametrize(
    ("code", "faults"),
    [
        (112, {"epoch": 4, "member_id": "who", **NOBODYS}),
        (25, {"epoch": 4, "member_id": "who", **BAD_REGEX}),
        (25, {"epoch": 4, "instance_id": "who", **BAD_REGEX}),
        (82, {"epoch": 4, "member_id": "who", "instance_id": "i", **BAD_REGEX}),
        (110, {"epoch": 4, **BAD_REGEX}),
        (128, {"topics": ("other",), **BAD_REGEX}),
        (69, {"group_id": "other", "epoch": 4, **BAD_REGEX}),
        (69, {"group_id": "other", "epoch": -1}),
    ],
    ids=str,
)
def test_of_several_faults_the_first_check_is_told_and_nothing_changes(code, faults):
    consumers = Consumers()
    a = consumers.joined("t", instance_id="i")
    before = consumers.shown(a)
    assert a.beats(**faults) == code
    assert (consumers.shown(a), consumers.seen) == (before, ("Stable", 1, 1))


def test_an_assignor_that_the_settings_leave_out_is_unknown():
    consumers = Consumers(config={"consumer_assignors": ("range",)})
    assert consumers.consumer("t").joins(assignor="uniform") == 112
    assert consumers.consumer("t").joins(assignor="") == 112
    assert consumers.consumer("t").joins(assignor="range") == 0


def test_a_pattern_that_is_none_makes_no_group():
    consumers = Consumers()
    assert consumers.consumer().joins(**BAD_REGEX) == 128
    assert not consumers.core.groups


def test_while_groups_are_loaded_nobody_is_judged():
    consumers = Consumers()
    a = consumers.joined("t")
    consumers.starts_loading()
    assert (a.beats(), a.joins(), a.leaves()) == (14, 14, 14)
    consumers.loads()
    assert a.beats(epoch=1) == 0


# A full group


def test_a_full_group_refuses_newcomers_before_anything_else_about_them():
    consumers = Consumers(config={"consumer_max_size": 1})
    a = consumers.joined("t", instance_id="i")
    assert consumers.consumer("t").joins(**BAD_REGEX) == 81
    assert consumers.consumer("t").beats(epoch=3) == 81
    assert (a.joins(), a.beats()) == (0, 0)


def test_a_known_instance_has_its_place_in_a_full_group():
    consumers = Consumers(config={"consumer_max_size": 1})
    a = consumers.joined("t", instance_id="i")
    assert consumers.consumer("t", instance_id="i").joins() == 111
    assert a.leaves(-2) == 0
    assert consumers.consumer("t", instance_id="i").joins() == 0


# Instances


def test_an_instance_that_is_in_use_is_not_handed_over():
    consumers = Consumers()
    a = consumers.joined("t", instance_id="i")
    assert consumers.consumer("t", instance_id="i").joins() == 111
    assert (a.beats(instance_id="i"), list(consumers.modern.members)) == (0, [a.id])


def test_an_instance_belongs_to_one_member():
    consumers = Consumers()
    a, b = consumers.joined("t", instance_id="i"), consumers.joined("t")
    assert (b.beats(instance_id="i"), b.beats(instance_id="i", epoch=9)) == (82, 82)
    assert (a.beats(instance_id="j"), a.beats(instance_id="j", epoch=9)) == (25, 25)
    assert a.beats(instance_id="i", epoch=9) == 110


def test_a_static_member_may_say_its_first_heartbeat_again_under_the_same_instance():
    """Its first answer may have been lost. Apache says 111 up to 4.3.

    https://github.com/apache/kafka/pull/23542
    """
    consumers = Consumers(t=1)
    a = consumers.joined("t", instance_id="i")
    assert (a.joins(), a.epoch, a.held) == (0, 1, {"t": (0,)})
    assert a.joins(instance_id="j") == 42
    assert consumers.joined("t").joins(instance_id="k") == 42


def test_a_member_cannot_take_the_instance_of_one_that_is_away():
    consumers = Consumers(t=1)
    a, b = consumers.joined("t", instance_id="i"), consumers.joined("t")
    a.leaves(-2)
    assert b.joins(instance_id="i") == 42
    assert consumers.modern.holder("i") is consumers.shown(a)


# Epochs


@pytest.mark.parametrize(
    ("epoch", "owned", "good"),
    [
        (5, None, True),
        (6, {}, False),
        (4, {}, False),
        (3, {}, True),
        (3, {T: (1,)}, True),
        (3, {T: (1, 2)}, True),
        (3, {T: (3,)}, False),
        (3, None, False),
        (0, {}, False),
    ],
)
def test_the_epoch_before_passes_if_nothing_but_the_members_own_is_claimed(epoch, owned, good):
    member = Member(
        member_id="a",
        client_id="c",
        client_host="/h",
        rebalance_timeout_ms=9,
        epoch=5,
        previous_epoch=3,
        assigned={T: (1, 2)},
    )
    fault = check_epoch(member, epoch, owned)
    assert (fault is None) == good
    assert fault is None or fault.code == 110


def test_version_0_has_the_broker_make_the_id():
    consumers = Consumers()
    a = consumers.consumer("t", member_id="", makes_id=False, fresh_id="fresh")
    assert (a.joins(), a.asked.answer.member_id) == (0, "fresh")
    assert a.beats(member_id="", makes_id=False) == 42
    assert a.beats(member_id="", makes_id=False, epoch=-1) == 42
    assert a.beats(member_id="", makes_id=False, epoch=-2) == 42
    assert a.beats(member_id="", makes_id=False, epoch=-2, instance_id="i") == 25
