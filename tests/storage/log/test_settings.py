import pytest

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.settings import (
    LONG_MAX,
    TOPIC_SETTINGS,
    ConfigType,
    check_topic_settings,
    list_items,
    topic_values,
)


def refused(**configs: str | None) -> str:
    with pytest.raises(KafkaError) as raised:
        check_topic_settings({name.replace("_", "."): value for name, value in configs.items()})
    assert raised.value.code == ErrorCode.INVALID_CONFIG
    return raised.value.message


def test_good_values_are_kept_in_one_form():
    assert check_topic_settings(
        {"retention.ms": " -1 ", "cleanup.policy": "compact, delete", "preallocate": "false", "segment.bytes": "100"}
    ) == {"retention.ms": "-1", "cleanup.policy": "compact,delete", "preallocate": "false", "segment.bytes": "100"}


def test_an_unknown_name_is_refused_by_its_name():
    assert "bogus" in refused(bogus="1")


@pytest.mark.parametrize(
    "configs",
    [
        {"retention_ms": "soon"},
        {"retention_ms": "-2"},
        {"retention_ms": None},
        {"retention_ms": str(LONG_MAX + 1)},
        {"segment_bytes": str(2**31)},
        {"segment_bytes": "13"},
        {"segment_bytes": "1.5"},
        {"cleanup_policy": "purge"},
        {"cleanup_policy": ""},
        {"cleanup_policy": "compact,purge"},
        {"compression_type": "brotli"},
        {"message_timestamp_type": "Never"},
        {"min_cleanable_dirty_ratio": "1.1"},
        {"min_cleanable_dirty_ratio": "nan"},
        {"preallocate": "maybe"},
        {"remote_storage_enable": "true"},
        {"min_insync_replicas": "0"},
        {"min_compaction_lag_ms": "5", "max_compaction_lag_ms": "4"},
    ],
    ids=str,
)
def test_a_value_that_cannot_be_is_refused(configs):
    refused(**configs)


def test_every_default_is_a_value_that_may_be_set():
    defaults = {name: setting.default for name, setting in TOPIC_SETTINGS.items()}
    assert check_topic_settings(defaults) == defaults == topic_values({}, {})


def test_what_a_topic_does_not_set_follows_the_broker():
    broker = {"log.retention.ms": 5, "log.preallocate": True, "log.cleaner.min.cleanable.ratio": 0.25}
    values = topic_values({"segment.ms": "9"}, broker)
    assert (values["retention.ms"], values["preallocate"], values["min.cleanable.dirty.ratio"]) == ("5", "true", "0.25")
    assert (values["segment.ms"], values["retention.bytes"]) == ("9", "-1")


def test_the_names_and_types_are_kafkas():
    assert TOPIC_SETTINGS["max.message.bytes"].type == ConfigType.INT == 3
    assert TOPIC_SETTINGS["retention.ms"].type == ConfigType.LONG == 5
    assert TOPIC_SETTINGS["cleanup.policy"].type == ConfigType.LIST == 7
    assert len(TOPIC_SETTINGS) == 33 and all(setting.documentation for setting in TOPIC_SETTINGS.values())


def test_a_list_has_no_empty_items():
    assert list_items(" a, ,b,") == ["a", "b"]
