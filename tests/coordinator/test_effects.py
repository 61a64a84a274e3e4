"""Effects are plain values that a shell can match on."""

from __future__ import annotations

import typing

import pytest

from kaas.coordinator import effects
from kaas.coordinator.effects import Announce, CancelTimer, Effect, Persist, Reply, SetTimer
from kaas.coordinator.records import GenerationReserved


def test_there_are_effects_for_replies_timers_writes_and_announcements():
    assert {Reply, SetTimer, CancelTimer, Persist, Announce} <= set(typing.get_args(Effect))


def test_effects_are_equal_when_they_ask_for_the_same():
    assert SetTimer(("sync", "g"), 5) == SetTimer(("sync", "g"), 5) != SetTimer(("sync", "g"), 6)
    assert CancelTimer(("sync", "g")) == CancelTimer(("sync", "g"))


def test_an_effect_does_not_change():
    persist = effects.Persist(1, "g", 2, GenerationReserved(3))
    assert (persist.seq, persist.group_id, persist.epoch, persist.record) == (1, "g", 2, GenerationReserved(3))
    with pytest.raises(AttributeError):
        persist.seq = 2
