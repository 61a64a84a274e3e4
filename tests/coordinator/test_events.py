"""Events: every kind is one that the coordinator decides about, and none changes on the way."""

from __future__ import annotations

import typing

import pytest

from kaas.coordinator import events
from kaas.coordinator.config import CoordinatorConfig
from kaas.coordinator.coordinator import Coordinator
from kaas.coordinator.events import Commit, Heartbeat, Leaving


def test_the_coordinator_has_a_decision_for_every_kind_of_event():
    kinds = set(typing.get_args(events.Event))
    assert kinds == set(Coordinator(CoordinatorConfig())._deciders)


def test_an_event_does_not_change():
    event = Heartbeat(reply_to=None, group_id="g", generation=1, member_id="m", instance_id=None)
    with pytest.raises(AttributeError):
        event.generation = 2


def test_what_a_version_does_not_carry_has_a_meaning_of_its_own():
    commit = Commit(reply_to=None, group_id="g", generation=-1, member_id="", instance_id=None, rows=[])
    assert commit.modern
    assert Leaving(member_id="m", instance_id=None).reason is None
