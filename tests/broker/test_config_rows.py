from kaas.broker.config_rows import PASSWORD, Source, all_brokers_rows, broker_rows, group_rows, topic_rows
from kaas.broker.settings import TABLE, Settings, parse
from kaas.storage.log.settings import TOPIC_SETTINGS, ConfigType


def by_name(rows):
    names = [row["name"] for row in rows]
    assert names == sorted(names) and len(set(names)) == len(names)
    return {row["name"]: row for row in rows}


def sources(row):
    return [(one["name"], one["value"], one["source"]) for one in row["synonyms"]]


def test_a_topic_shows_every_setting_with_where_it_comes_from():
    rows = by_name(topic_rows({"retention.ms": "5"}, parse(["log.retention.ms=6", "log.segment.bytes=7000"])))
    assert rows.keys() == TOPIC_SETTINGS.keys()
    assert (rows["retention.ms"]["value"], rows["retention.ms"]["config_source"]) == ("5", Source.TOPIC)
    assert sources(rows["retention.ms"]) == [
        ("retention.ms", "5", Source.TOPIC),
        ("log.retention.ms", "6", Source.STATIC_BROKER),
        ("log.retention.ms", "604800000", Source.DEFAULT),
    ]
    assert sources(rows["segment.bytes"])[0] == ("log.segment.bytes", "7000", Source.STATIC_BROKER)
    assert (rows["cleanup.policy"]["value"], rows["cleanup.policy"]["config_source"]) == ("delete", Source.DEFAULT)
    assert not rows["retention.ms"]["read_only"] and rows["retention.ms"]["config_type"] == ConfigType.LONG


def test_a_setting_that_no_broker_setting_gives_has_its_default():
    row = by_name(topic_rows({}, parse([])))["segment.jitter.ms"]
    assert (row["value"], row["config_source"], row["synonyms"]) == ("0", Source.DEFAULT, [])


def test_the_values_are_those_that_the_logs_work_with():
    from kaas.storage.log.settings import topic_values

    settings = parse(["log.preallocate=true", "log.cleaner.min.cleanable.ratio=0.25"])
    shown = {row["name"]: row["value"] for row in topic_rows({"flush.ms": "9"}, settings)}
    assert shown == topic_values({"flush.ms": "9"}, settings)


def test_a_broker_shows_its_settings_and_its_number():
    rows = by_name(broker_rows(7, parse(["num.partitions=3"])))
    assert rows.keys() == TABLE.keys() | {"node.id"}
    assert (rows["node.id"]["value"], rows["node.id"]["read_only"]) == ("7", True)
    assert sources(rows["num.partitions"]) == [
        ("num.partitions", "3", Source.STATIC_BROKER),
        ("num.partitions", "1", Source.DEFAULT),
    ]
    assert (rows["auto.create.topics.enable"]["value"], rows["auto.create.topics.enable"]["config_type"]) == (
        "true",
        ConfigType.BOOLEAN,
    )


def test_what_was_changed_while_it_runs_comes_first():
    settings = parse(["num.partitions=2", "log.retention.ms=6"])
    settings.change({"num.partitions": 4, "log.retention.ms": 8}, {"num.partitions": 3})
    row = by_name(broker_rows(1, settings))["num.partitions"]
    assert sources(row) == [
        ("num.partitions", "4", Source.DYNAMIC_BROKER),
        ("num.partitions", "3", Source.DYNAMIC_DEFAULT_BROKER),
        ("num.partitions", "2", Source.STATIC_BROKER),
        ("num.partitions", "1", Source.DEFAULT),
    ]
    assert by_name(topic_rows({}, settings))["retention.ms"]["config_source"] == Source.DYNAMIC_BROKER


def test_only_what_can_be_changed_while_it_runs_is_not_read_only():
    rows = by_name(broker_rows(1, parse(["listener.name.out.ssl.client.auth=required"])))
    assert all(row["read_only"] is not TABLE[name].dynamic for name, row in rows.items() if name in TABLE)
    assert rows["listener.name.out.ssl.client.auth"]["value"] == "required"
    assert rows["listener.name.out.ssl.client.auth"]["read_only"]


def test_a_secret_has_no_value_to_show():
    row = by_name(broker_rows(1, parse(["ssl.key.password=secret"])))["ssl.key.password"]
    assert (row["value"], row["is_sensitive"], row["config_type"]) == (None, True, PASSWORD)
    assert "secret" not in str(row)


def test_all_brokers_show_what_was_changed_for_them_alone():
    (row,) = all_brokers_rows({"num.partitions": 3})
    assert (row["value"], sources(row)) == ("3", [("num.partitions", "3", Source.DYNAMIC_DEFAULT_BROKER)])


def test_a_group_shows_what_was_set_on_it():
    rows = by_name(group_rows({"consumer.session.timeout.ms": "9"}, Settings()))
    assert sources(rows["consumer.session.timeout.ms"]) == [
        ("consumer.session.timeout.ms", "9", Source.GROUP),
        ("consumer.session.timeout.ms", "45000", Source.DEFAULT),
    ]
    assert rows["consumer.heartbeat.interval.ms"]["config_source"] == Source.DEFAULT


def test_what_all_groups_have_is_the_default_of_one():
    rows = by_name(group_rows({}, Settings({"group.consumer.session.timeout.ms": 50_000})))
    assert sources(rows["consumer.session.timeout.ms"]) == [
        ("consumer.session.timeout.ms", "50000", Source.DEFAULT),
    ]
