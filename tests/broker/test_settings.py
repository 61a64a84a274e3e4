"""Settings by Kafka's names."""

import pytest

from kaas.broker.settings import TABLE, BadSetting, Settings, Source, known, parse
from kaas.coordinator.config import CoordinatorConfig, MigrationPolicy

KINDS = {"int": int, "long": int, "bool": bool, "string": str, "list": str, "password": str, "double": float}


def test_a_setting_that_nobody_set_has_its_default():
    settings = parse([])
    assert settings["group.max.session.timeout.ms"] == 1_800_000
    assert settings.is_default("group.max.session.timeout.ms")


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("group.max.size=3", "group.max.size", 3),
        (" num.partitions = 4 ", "num.partitions", 4),
        ("auto.create.topics.enable=FALSE", "auto.create.topics.enable", False),
        ("delete.topic.enable=true", "delete.topic.enable", True),
        ("log.cleaner.min.cleanable.ratio=0.25", "log.cleaner.min.cleanable.ratio", 0.25),
        ("kaas.cluster=a=b", "kaas.cluster", "a=b"),
        ("listeners=PLAINTEXT://127.0.0.1:0", "listeners", "PLAINTEXT://127.0.0.1:0"),
        ("log.retention.ms=-1", "log.retention.ms", -1),
    ],
)
def test_a_setting_is_read_by_its_kind(text, name, value):
    settings = parse([text])
    assert settings[name] == value and not settings.is_default(name)


def test_the_last_of_two_values_counts():
    assert parse(["group.max.size=3", "group.max.size=5"])["group.max.size"] == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("group.max.size", "name=value"),
        ("group.max.size=many", "group.max.size='many': a number is taken"),
        ("group.max.size=0", "1 or more is taken"),
        ("group.max.size=1.5", "a number is taken"),
        ("auto.create.topics.enable=yes", "true or false is taken"),
        ("group.max.sise=3", "did you mean group.max.size"),
        ("nothing.like.it.anywhere=3", "there is no setting"),
        ("log.cleaner.min.cleanable.ratio=-0.5", "0 or more is taken"),
    ],
)
def test_what_cannot_be_is_refused_with_what_is_taken(text, words):
    with pytest.raises(BadSetting, match=words):
        parse([text])


def test_settings_made_in_the_program_must_exist_too():
    with pytest.raises(BadSetting):
        Settings({"no.such": 1})


def test_settings_are_a_mapping_of_the_whole_table():
    settings = parse(["group.max.size=3"])
    assert len(settings) == len(TABLE) and set(settings) == set(TABLE)
    assert dict(settings)["group.max.size"] == 3


@pytest.mark.parametrize("name", TABLE)
def test_each_default_is_of_its_kind_and_would_be_taken(name):
    row = known(name)
    assert type(row.default) is KINDS[row.kind] or (row.kind == "double" and type(row.default) is int)
    text = str(row.default).lower() if row.kind == "bool" else str(row.default)
    assert row.parse(text) == row.default and row.meaning


def test_the_coordinator_is_told_its_settings():
    settings = parse(["offsets.retention.minutes=2", "group.max.size=3", "group.initial.rebalance.delay.ms=0"])
    config = settings.coordinator()
    assert (config.offsets_retention_ms, config.max_size, config.initial_rebalance_delay_ms) == (120_000, 3, 0)
    assert parse([]).coordinator() == CoordinatorConfig()


def test_the_coordinator_is_told_what_consumer_groups_may_do():
    named = {"assignors": "range", "migration.policy": "upgrade", "max.size": 3, "regex.refresh.interval.ms": 9}
    config = parse([f"group.consumer.{name}={value}" for name, value in named.items()]).coordinator()
    assert (config.consumer_assignors, config.consumer_max_size) == (("range",), 3)
    assert config.consumer_migration_policy is MigrationPolicy.UPGRADE
    assert config.consumer_regex_refresh_interval_ms == 9


def test_times_of_consumer_groups_that_contradict_each_other_are_refused():
    with pytest.raises(BadSetting, match=r"^group\.consumer\.session\.timeout\.ms must be greater than or equal to"):
        parse(["group.consumer.session.timeout.ms=4000"])


def test_a_listener_has_its_own_value_before_the_one_for_all():
    settings = parse(["ssl.client.auth=requested", "listener.name.OUTSIDE.ssl.client.auth=required"])
    assert settings.on("OUTSIDE", "ssl.client.auth") == "required"
    assert settings.on("INSIDE", "ssl.client.auth") == "requested"
    assert "listener.name.outside.ssl.client.auth" in settings.set_names()


def test_what_was_changed_counts_before_what_was_set():
    settings = parse(["num.partitions=2"])
    assert not settings.were_changed
    settings.change({"num.partitions": 4}, {"num.partitions": 3, "group.max.size": 5})
    assert (settings["num.partitions"], settings["group.max.size"], settings.were_changed) == (4, 5, True)
    assert settings.values_of("num.partitions") == [
        (4, Source.DYNAMIC_BROKER),
        (3, Source.DYNAMIC_DEFAULT_BROKER),
        (2, Source.STATIC_BROKER),
        (1, Source.DEFAULT),
    ]
    settings.change({}, {})
    assert settings["num.partitions"] == 2 and settings.is_default("group.max.size")
