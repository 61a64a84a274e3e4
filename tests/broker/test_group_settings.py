"""The settings that one group can have, and the bounds of its times."""

import pytest

from kaas.broker.group_settings import (
    GROUP_SETTINGS,
    HEARTBEAT,
    SESSION,
    check_times,
    group_config,
    times_of,
    times_of_all,
)
from kaas.broker.settings import BadSetting, Settings
from kaas.coordinator.config import GroupConfig

QUICK = {
    "group.consumer.session.timeout.ms": 4_000,
    "group.consumer.min.session.timeout.ms": 1_000,
    "group.consumer.heartbeat.interval.ms": 1_000,
    "group.consumer.min.heartbeat.interval.ms": 500,
}


@pytest.mark.parametrize(("name", "default"), [(HEARTBEAT, 5_000), (SESSION, 45_000)])
def test_a_group_has_kafkas_settings_with_kafkas_defaults(name, default):
    assert GROUP_SETTINGS[name].default == default and GROUP_SETTINGS[name].name == name


@pytest.mark.parametrize("setting", GROUP_SETTINGS.values(), ids=lambda row: row.name)
def test_a_time_is_more_than_nothing(setting):
    assert setting.parse("1") == 1 and setting.meaning
    with pytest.raises(BadSetting):
        setting.parse("0")


def test_what_was_not_set_on_a_group_is_as_for_all_groups():
    settings = Settings(QUICK)
    assert times_of_all(settings) == {SESSION: 4_000, HEARTBEAT: 1_000}
    assert times_of({SESSION: "2000"}, settings) == {SESSION: 2_000, HEARTBEAT: 1_000}


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        ({SESSION: "999"}, f"^{SESSION} must be greater than or equal to group.consumer.min.session.timeout.ms"),
        ({SESSION: "70000"}, f"^{SESSION} must be less than or equal to group.consumer.max.session.timeout.ms"),
        ({HEARTBEAT: "100"}, f"^{HEARTBEAT} must be greater than or equal to group.consumer.min.heartbeat.interval.ms"),
        ({HEARTBEAT: "20000"}, f"^{HEARTBEAT} must be less than or equal to group.consumer.max.heartbeat.interval.ms"),
        ({SESSION: "2000", HEARTBEAT: "2000"}, f"^{SESSION} must be greater than {HEARTBEAT}"),
        ({SESSION: "1000"}, f"^{SESSION} must be greater than {HEARTBEAT}"),
    ],
)
def test_a_time_lies_between_the_brokers_bounds(texts, words):
    settings = Settings(QUICK)
    check_times(times_of({SESSION: "1001", HEARTBEAT: "1000"}, settings), settings)
    with pytest.raises(BadSetting, match=words):
        check_times(times_of(texts, settings), settings)


def test_the_coordinator_is_given_what_was_set():
    assert group_config({}) == GroupConfig()
    assert group_config({SESSION: "2000"}) == GroupConfig(consumer_session_timeout_ms=2_000)
    assert group_config({HEARTBEAT: "700"}) == GroupConfig(consumer_heartbeat_interval_ms=700)


def test_what_this_version_does_not_take_counts_as_not_set():
    assert group_config({SESSION: "soon", "share.session.timeout.ms": "9"}) == GroupConfig()
