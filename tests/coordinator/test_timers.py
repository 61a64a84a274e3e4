"""Names of timers: kind first, then the group, then the member; no two things share one."""

from __future__ import annotations

from kaas.coordinator import timers

OF_MEMBERS = (timers.session, timers.new_member, timers.pending_member)
OF_GROUPS = (timers.initial_delay, timers.rebalance, timers.sync)


def test_a_key_is_its_kind_its_group_and_its_member():
    assert [make("g", "m") for make in OF_MEMBERS] == [
        ("session", "g", "m"),
        ("new_member", "g", "m"),
        ("pending_member", "g", "m"),
    ]
    assert [make("g") for make in OF_GROUPS] == [("initial_delay", "g"), ("rebalance", "g"), ("sync", "g")]
    assert timers.RETENTION == ("retention",)


def test_no_two_things_share_a_timer():
    names = ("", "a", "b", "a,b")
    keys = [make(group, member) for make in OF_MEMBERS for group in names for member in names]
    keys += [make(group) for make in OF_GROUPS for group in names]
    assert len(set(keys)) == len(keys)
