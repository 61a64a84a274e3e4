"""The end of a group: no timer is left of it, and the feed is told that it is Dead."""

from __future__ import annotations

import pytest

from kaas.coordinator.announcements import GroupGone, StateChanged
from kaas.coordinator.timers import RETENTION, TRANSACTION_EXPIRY
from tests.support.consumers import Consumers
from tests.support.groups import Groups

ROUNDS = {RETENTION, TRANSACTION_EXPIRY}


def classic() -> Groups:
    groups = Groups()
    groups.settled(*groups.members(2))
    return groups


def modern() -> Groups:
    consumers = Consumers(t=2)
    a, _ = consumers.joined("t"), consumers.joined("t")
    a.beats()
    assert any(key[0] == "revocation" for key in consumers.timers)
    return consumers


@pytest.mark.parametrize("make", [classic, modern], ids=["classic", "consumer"])
def test_a_group_that_moves_leaves_no_timer(make):
    groups = make()
    assert groups.timers.keys() > ROUNDS
    groups.unloads()
    assert groups.timers.keys() == ROUNDS
    assert groups.heard(StateChanged)[-1].after == "Dead"
    assert groups.heard(GroupGone)[-1].kind == "coordinator_lost"


def test_an_empty_consumer_group_can_be_deleted_and_begins_anew():
    consumers = Consumers(t=1)
    a = consumers.joined("t")
    assert a.commits(3) == 0
    assert consumers.deletes().code == 68
    a.leaves()
    assert (consumers.deletes().code, consumers.deletes().code) == (0, 69)
    assert consumers.heard(StateChanged)[-1] == StateChanged(before="Empty", after="Dead")
    a.joins()
    assert (a.epoch, a.held, consumers.committed()) == (1, {"t": (0,)}, {})
