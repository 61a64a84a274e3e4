"""How long a member may be silent: the group says it for members under KIP-848, a classic member for itself."""

from __future__ import annotations

from kaas.coordinator.config import GroupConfig
from tests.support.groups import GROUP
from tests.support.mixed import Mixed


def test_each_protocol_has_its_own_timeout():
    both = Mixed(orders=2, config={"consumer_session_timeout_ms": 50_000})
    m, k = both.consumer("orders"), both.classic_reader("orders", session_timeout_ms=20_000)
    m.joins()
    k.rejoins()
    assert both.timers["session", GROUP, m.id] == both.now_ms + 50_000
    assert both.timers["session", GROUP, k.id] == both.now_ms + 20_000


def test_a_heartbeat_begins_it_anew_with_what_the_group_has_now():
    both = Mixed(orders=2)
    m = both.consumer("orders")
    m.joins()
    both.core.group_configs = {GROUP: GroupConfig(consumer_session_timeout_ms=7_000)}
    both.passes(1_000)
    m.beats()
    assert both.timers["session", GROUP, m.id] == both.now_ms + 7_000
    assert both.modern.heard_ms[m.id] == both.now_ms


def test_a_silent_member_goes_when_it_is_over():
    both = Mixed(orders=2, config={"consumer_session_timeout_ms": 50_000})
    m = both.consumer("orders")
    m.joins()
    both.passes(49_999)
    assert m.id in both.modern.members
    both.passes(1)
    assert both.modern.members == {}
