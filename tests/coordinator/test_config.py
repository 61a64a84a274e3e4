"""The defaults are Apache's."""

from __future__ import annotations

import pytest

from kaas.coordinator.config import FOREVER, CoordinatorConfig, MigrationPolicy


def test_the_defaults_are_those_of_an_apache_broker():
    config = CoordinatorConfig()
    assert (config.min_session_timeout_ms, config.max_session_timeout_ms) == (6_000, 1_800_000)
    assert (config.initial_rebalance_delay_ms, config.max_size) == (3_000, FOREVER)
    assert (config.new_member_join_timeout_ms, config.offset_metadata_max_bytes) == (300_000, 4_096)
    assert (config.offsets_retention_ms, config.offsets_retention_check_interval_ms) == (604_800_000, 600_000)
    assert (config.consumer_session_timeout_ms, config.consumer_heartbeat_interval_ms) == (45_000, 5_000)
    assert (config.consumer_max_size, config.consumer_assignors) == (FOREVER, ("uniform", "range"))
    assert config.consumer_migration_policy is MigrationPolicy.BIDIRECTIONAL


def test_a_setting_does_not_change_under_a_running_coordinator():
    with pytest.raises(AttributeError):
        CoordinatorConfig().max_size = 1


def test_a_policy_says_which_way_a_group_may_go():
    ways = {policy.value: (policy.upgrades, policy.downgrades) for policy in MigrationPolicy}
    assert ways == {
        "bidirectional": (True, True),
        "upgrade": (True, False),
        "downgrade": (False, True),
        "disabled": (False, False),
    }
