"""The settings that one group can have."""

import pytest

from kaas.broker.group_settings import GROUP_SETTINGS
from kaas.broker.settings import BadSetting


@pytest.mark.parametrize(
    ("name", "default"), [("consumer.heartbeat.interval.ms", 5_000), ("consumer.session.timeout.ms", 45_000)]
)
def test_a_group_has_kafkas_settings_with_kafkas_defaults(name, default):
    assert GROUP_SETTINGS[name].default == default and GROUP_SETTINGS[name].name == name


@pytest.mark.parametrize("setting", GROUP_SETTINGS.values(), ids=lambda row: row.name)
def test_a_time_is_more_than_nothing(setting):
    assert setting.parse("1") == 1 and setting.meaning
    with pytest.raises(BadSetting):
        setting.parse("0")
