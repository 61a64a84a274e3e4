"""Settings that were changed while the broker ran: kept, and put in force."""

import json

import pytest
import structlog

from kaas.broker.configs import ALL_BROKERS, BadConfigs, Configs, changed
from kaas.broker.settings import Settings, Source
from kaas.errors import ErrorCode, KafkaError
from tests.support.disk import refusing


def at_once(function, done):
    """Runs file work in the same thread."""
    try:
        result = function()
    except KafkaError as error:
        result = error
    done(result)


class Later:
    """Runs file work when the test says so."""

    def __init__(self):
        self.waiting = []

    def __call__(self, function, done):
        self.waiting.append((function, done))

    def go(self):
        at_once(*self.waiting.pop(0))


class Kept:
    """What is set, with the settings it acts on."""

    def __init__(self, folder, broker_id=1, **static):
        self.settings = Settings(static)
        self.told = 0
        self.path = folder / "configs.json"
        self.configs = Configs(self.path, broker_id, self.settings, self.tell)
        self.configs.load()

    def tell(self):
        self.told += 1

    def change(self, name, changes, runs=at_once):
        results = []
        self.configs.take_turn(lambda done: self.configs.change_broker(name, changes, runs, done), results.append)
        return results


def test_a_change_is_in_force_and_on_the_disk_when_it_is_answered(tmp_path):
    kept = Kept(tmp_path)
    assert kept.change("1", {"group.max.size": "3"}) == [None]
    assert kept.settings["group.max.size"] == 3 and kept.told == 1
    assert json.loads(kept.path.read_bytes())["brokers"] == {"1": {"group.max.size": "3"}}
    assert Kept(tmp_path).settings["group.max.size"] == 3


def test_nothing_is_in_force_before_the_disk_has_it(tmp_path):
    kept, later = Kept(tmp_path), Later()
    results = kept.change("1", {"group.max.size": "3"}, later)
    assert results == [] and kept.settings["group.max.size"] != 3
    later.go()
    assert results == [None] and kept.settings["group.max.size"] == 3


def test_a_change_that_the_disk_refuses_changes_nothing(tmp_path):
    kept = Kept(tmp_path)
    with refusing("fsync"):
        (refusal,) = kept.change("1", {"group.max.size": "3"})
    assert refusal.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert kept.settings["group.max.size"] != 3 and kept.configs.broker("1") == {} and kept.told == 0


def test_one_broker_counts_before_all_and_all_before_the_start(tmp_path):
    kept = Kept(tmp_path, **{"num.partitions": 2})
    kept.change(ALL_BROKERS, {"num.partitions": "3"})
    assert kept.settings["num.partitions"] == 3
    kept.change("1", {"num.partitions": "4"})
    assert kept.settings.values_of("num.partitions") == [
        (4, Source.DYNAMIC_BROKER),
        (3, Source.DYNAMIC_DEFAULT_BROKER),
        (2, Source.STATIC_BROKER),
        (1, Source.DEFAULT),
    ]
    kept.change("1", {"num.partitions": None})
    kept.change(ALL_BROKERS, {"num.partitions": None})
    assert kept.settings["num.partitions"] == 2


def test_another_brokers_settings_are_not_ours(tmp_path):
    Kept(tmp_path, broker_id=2).change("2", {"num.partitions": "4"})
    assert Kept(tmp_path, broker_id=1).settings["num.partitions"] == 1


def test_changes_come_one_after_another_each_on_what_the_one_before_left(tmp_path):
    kept, later = Kept(tmp_path), Later()
    first = kept.change("1", {"num.partitions": "4"}, later)
    second = kept.change("1", {"group.max.size": "3"}, later)
    assert len(later.waiting) == 1
    later.go()
    assert first == [None] and second == [] and len(later.waiting) == 1
    later.go()
    assert second == [None] and kept.configs.broker("1") == {"num.partitions": "4", "group.max.size": "3"}


def test_work_that_is_refused_makes_way_for_the_next(tmp_path):
    kept = Kept(tmp_path)
    results = []

    def refused(_):
        raise KafkaError(ErrorCode.INVALID_CONFIG)

    for work in [refused] * 3_000:
        kept.configs.take_turn(work, results.append)
    assert len(results) == 3_000 and kept.change("1", {"num.partitions": "2"}) == [None]


def test_settings_of_groups_are_kept(tmp_path):
    kept, results = Kept(tmp_path), []
    change = {"consumer.session.timeout.ms": "9"}
    kept.configs.take_turn(lambda done: kept.configs.change_group("g", change, at_once, done), results.append)
    assert results == [None] and kept.configs.group("g") == change
    assert Kept(tmp_path).configs.group("g") == change and Kept(tmp_path).configs.groups() == {"g": change}


@pytest.mark.parametrize("data", [b"", b"[]", b'{"brokers": {"1": {"a": 1}}}', b"{"])
def test_a_file_that_cannot_be_understood_ends_the_start(tmp_path, data):
    (tmp_path / "configs.json").write_bytes(data)
    with pytest.raises(BadConfigs, match=r"configs\.json.*repair it"):
        Kept(tmp_path)


def test_what_this_version_does_not_take_is_left_in_the_file_and_said(tmp_path):
    texts = {"of.a.later.version": "1", "group.max.size": "many", "num.partitions": "4"}
    (tmp_path / "configs.json").write_text(json.dumps({"brokers": {"1": texts}}))
    with structlog.testing.capture_logs() as logs:
        kept = Kept(tmp_path)
    assert kept.settings["num.partitions"] == 4 and len(logs) == 2
    kept.change("1", {"num.partitions": "5"})
    assert json.loads(kept.path.read_bytes())["brokers"]["1"] == {**texts, "num.partitions": "5"}


def test_a_name_goes_when_nothing_is_left_of_it():
    assert changed({"a": {"x": "1"}, "b": {}}, "a", {"x": None}) == {"b": {}}
    assert changed({}, "a", {"x": "1", "y": None}) == {"a": {"x": "1"}}
