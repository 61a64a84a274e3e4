import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.admission import Appended
from kaas.storage.log.files import OpenFiles
from kaas.storage.log.recent import RecentBatches
from kaas.storage.log.writer import LogResources
from kaas.storage.topics import MAX_PARTITIONS, TopicRegistry, check_topic_name
from tests.storage.log.making import NOW, disk_takes, plain, seen


def registry(data, **settings) -> TopicRegistry:
    one = TopicRegistry(
        data,
        {name.replace("_", "."): value for name, value in settings.items()},
        LogResources(OpenFiles(), RecentBatches()),
    )
    one.load(NOW)
    return one


@pytest.fixture
def topics(tmp_path):
    return registry(tmp_path)


def refusal(call) -> ErrorCode:
    with pytest.raises(KafkaError) as raised:
        call()
    return raised.value.code


def facts(topics: TopicRegistry) -> dict:
    return {one.name: (one.topic_id, len(one.partitions), dict(one.configs), one.internal) for one in topics}


def write(topics: TopicRegistry, name: str, *values: str, partition: int = 0) -> None:
    results = topics.partition(name, partition).append([plain(value) for value in values], NOW)
    assert all(isinstance(one, Appended) for one in results)


def written(topics: TopicRegistry, name: str, partition: int = 0) -> list[str]:
    log = topics.partition(name, partition)
    chunk = log.read(log.view.log_start_offset, 10**6, log.view.high_watermark, min_one=True)
    return [value for _, value in seen(chunk.buffers)]


def names_in(folder) -> list[str]:
    return sorted(path.name for path in (folder / "topics").iterdir())


# Names


@pytest.mark.parametrize("name", ["a", "A-Z.0_9", "...", "x" * 249, "__consumer_offsets"])
def test_a_legal_name(name):
    check_topic_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "x" * 250, "two words", "a/b", "ü", "a\n", "~x", "a\0"])
def test_an_illegal_name(name):
    assert refusal(lambda: check_topic_name(name)) == ErrorCode.INVALID_TOPIC_EXCEPTION


# Creation


def test_a_topic_is_there_when_it_is_made_and_after_a_restart(topics, tmp_path):
    made = topics.create("t", 3, {"retention.ms": "5", "cleanup.policy": "compact , delete"})
    assert topics.get("t") is made is topics.by_id(made.topic_id)
    assert [log.partition for log in made.partitions] == [0, 1, 2]
    assert made.partition(2).config.retention_ms == 5 and made.partition(3) is made.partition(-1) is None
    topics.create("u", 1, {}, internal=True)
    assert facts(registry(tmp_path)) == facts(topics)
    assert facts(topics)["t"][2] == {"retention.ms": "5", "cleanup.policy": "compact,delete"}


def test_ids_are_new_each_time(topics):
    ids = {topics.create(name, 1, {}).topic_id for name in "abc"}
    assert len(ids) == 3 and {one.version for one in ids} == {4}


@pytest.mark.parametrize(
    ("name", "partitions", "configs", "code"),
    [
        ("taken", 1, {}, ErrorCode.TOPIC_ALREADY_EXISTS),
        ("a b", 1, {}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("with_dot", 1, {}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("t", 0, {}, ErrorCode.INVALID_PARTITIONS),
        ("t", -2, {}, ErrorCode.INVALID_PARTITIONS),
        ("t", MAX_PARTITIONS + 1, {}, ErrorCode.POLICY_VIOLATION),
        ("t", 1, {"bogus": "1"}, ErrorCode.INVALID_CONFIG),
        ("t", 1, {"retention.ms": "soon"}, ErrorCode.INVALID_CONFIG),
        ("t", 1, {"retention.ms": None}, ErrorCode.INVALID_CONFIG),
    ],
)
def test_a_bad_topic_is_not_made(topics, tmp_path, name, partitions, configs, code):
    topics.create("taken", 1, {})
    topics.create("with.dot", 1, {})
    assert refusal(lambda: topics.check_new(name, partitions, configs)) == code
    assert refusal(lambda: topics.create(name, partitions, configs)) == code
    assert names_in(tmp_path) == ["taken", "with.dot"]


def test_a_topic_costs_one_folder_however_many_partitions_it_has(topics, tmp_path):
    topics.create("wide", 1000, {})
    assert [path.name for path in (tmp_path / "topics" / "wide").iterdir()] == ["topic.json"]
    write(topics, "wide", "a", partition=700)
    again = registry(tmp_path)
    assert written(again, "wide", 700) == ["a"] and len(again.get("wide").partitions) == 1000


def test_topics_with_the_same_settings_share_them(topics):
    one, two, three = topics.create("a", 1, {}), topics.create("b", 2, {}), topics.create("c", 1, {"retention.ms": "1"})
    assert one.partitions[0].config is two.partitions[1].config is not three.partitions[0].config


def test_a_disk_that_is_full_makes_no_topic(topics, tmp_path):
    with disk_takes(10):
        assert refusal(lambda: topics.create("t", 1, {})) == ErrorCode.KAFKA_STORAGE_ERROR
    assert topics.get("t") is None and names_in(tmp_path) == []
    topics.create("t", 1, {})


def test_a_folder_that_is_in_the_way_is_not_overwritten(topics, tmp_path):
    path = tmp_path / "topics" / "t"
    path.mkdir()
    (path / "topic.json").write_bytes(b"{broken")
    again = registry(tmp_path)
    assert again.get("t") is None
    assert refusal(lambda: again.create("t", 1, {})) == ErrorCode.KAFKA_STORAGE_ERROR
    assert (path / "topic.json").read_bytes() == b"{broken"


def test_a_folder_that_was_copied_under_another_name_is_not_served(topics, tmp_path):
    topics.create("t", 1, {})
    (tmp_path / "topics" / "copy").mkdir()
    (tmp_path / "topics" / "copy" / "topic.json").write_bytes((tmp_path / "topics" / "t" / "topic.json").read_bytes())
    assert list(facts(registry(tmp_path))) == ["t"]


# Growth and settings


def test_partitions_are_added_and_never_taken_away(topics, tmp_path):
    topics.create("t", 1, {})
    write(topics, "t", "kept")
    first = topics.partition("t", 0)
    assert len(topics.grow("t", 3).partitions) == 3 and topics.partition("t", 0) is first
    for count in (3, 1, 0):
        assert refusal(lambda count=count: topics.grow("t", count)) == ErrorCode.INVALID_PARTITIONS
    assert refusal(lambda: topics.grow("t", MAX_PARTITIONS + 1)) == ErrorCode.POLICY_VIOLATION
    assert refusal(lambda: topics.grow("no", 3)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    again = registry(tmp_path)
    assert facts(again) == facts(topics) and written(again, "t") == ["kept"]


def test_a_growth_that_cannot_be_stored_does_not_happen(topics, tmp_path):
    topics.create("t", 1, {})
    with disk_takes(10):
        assert refusal(lambda: topics.grow("t", 2)) == ErrorCode.KAFKA_STORAGE_ERROR
    assert len(topics.get("t").partitions) == 1 and facts(registry(tmp_path)) == facts(topics)


def test_settings_change_and_are_taken_back(tmp_path):
    topics = registry(tmp_path, log_retention_ms=7)
    topics.create("t", 2, {"segment.bytes": "100"})
    topics.configure("t", {"retention.ms": "9"})
    assert [log.config.retention_ms for log in topics.get("t").partitions] == [9, 9]
    topics.configure("t", {"retention.ms": None, "segment.bytes": "200"})
    assert topics.get("t").configs == {"segment.bytes": "200"}
    assert topics.partition("t", 1).config.retention_ms == 7
    assert facts(registry(tmp_path)) == facts(topics)


@pytest.mark.parametrize("changes", [{"bogus": "1"}, {"retention.ms": "soon"}, {"max.compaction.lag.ms": "4"}])
def test_settings_that_cannot_be_change_nothing(topics, changes):
    topics.create("t", 1, {"min.compaction.lag.ms": "5"})
    before = facts(topics)
    assert refusal(lambda: topics.configure("t", changes)) == ErrorCode.INVALID_CONFIG
    assert facts(topics) == before


def test_settings_of_an_unknown_topic(topics):
    assert refusal(lambda: topics.configure("no", {})) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_every_setting_has_a_value(tmp_path):
    topics = registry(tmp_path, log_retention_ms=7)
    values = topics.values(topics.create("t", 1, {"segment.bytes": "100"}))
    assert (values["retention.ms"], values["segment.bytes"], values["flush.ms"]) == ("7", "100", str(2**63 - 1))


# Deletion


def test_a_deleted_topic_is_gone_and_its_name_free(topics, tmp_path):
    old = topics.create("a.b", 1, {})
    write(topics, "a.b", "old")
    log = topics.partition("a.b", 0)
    aside = topics.delete("a.b")
    assert aside.is_dir() and topics.get("a.b") is topics.by_id(old.topic_id) is None
    assert log.append([plain("x")], NOW)[0].code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refusal(lambda: topics.delete("a.b")) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    new = topics.create("a_b", 2, {})
    topics.delete("a_b")
    assert topics.create("a.b", 1, {}).topic_id not in (old.topic_id, new.topic_id)
    assert written(topics, "a.b") == []
    write(topics, "a.b", "new")
    assert written(registry(tmp_path), "a.b") == ["new"]


def test_every_change_of_a_topic_is_counted_and_none_that_fails(topics):
    counts = [topics.changes]
    for change in (
        lambda: topics.create("t", 1, {}),
        lambda: topics.grow("t", 2),
        lambda: topics.configure("t", {"retention.ms": "1"}),
        lambda: topics.delete("t"),
    ):
        change()
        counts.append(topics.changes)
    assert counts == sorted(set(counts))
    with pytest.raises(KafkaError):
        topics.grow("t", 3)
    assert topics.changes == counts[-1]


def test_what_a_crash_left_half_done_is_removed(topics, tmp_path):
    topics.create("t", 1, {})
    aside = topics.delete("t")
    half = tmp_path / "topics" / f"~new-{uuid.uuid4().hex}"
    half.mkdir()
    assert facts(registry(tmp_path)) == {}
    assert not aside.exists() and not half.exists()


def test_a_delete_that_the_disk_refuses_leaves_the_topic(topics, tmp_path):
    topics.create("t", 1, {})
    write(topics, "t", "a")
    (tmp_path / "topics" / "t").rename(tmp_path / "elsewhere")
    assert refusal(lambda: topics.delete("t")) == ErrorCode.KAFKA_STORAGE_ERROR
    (tmp_path / "elsewhere").rename(tmp_path / "topics" / "t")
    assert topics.get("t") is not None and written(topics, "t") == ["a"]


# All together


def test_logs_are_those_of_every_topic(topics):
    topics.create("a", 2, {})
    topics.create("b", 1, {})
    assert [log.folder.rsplit("/", 2)[1:] for log in topics.logs()] == [["a", "0"], ["a", "1"], ["b", "0"]]
    assert len(topics) == 2 and topics.partition("no", 0) is None


def test_a_log_that_cannot_be_opened_does_not_stop_the_others(topics, tmp_path):
    topics.create("t", 2, {})
    write(topics, "t", "a", partition=0)
    write(topics, "t", "b", partition=1)
    topics.close()
    checkpoint = tmp_path / "topics" / "t" / "0" / "checkpoint.json"
    checkpoint.unlink()
    checkpoint.mkdir()
    again = registry(tmp_path)
    assert refusal(lambda: again.partition("t", 0).view) == ErrorCode.KAFKA_STORAGE_ERROR
    assert written(again, "t", 1) == ["b"]


def test_a_log_that_cannot_be_closed_does_not_stop_the_others(topics, tmp_path):
    topics.create("t", 2, {})
    for partition in (0, 1):
        write(topics, "t", "a", partition=partition)
    (tmp_path / "topics" / "t" / "0" / "checkpoint.json").mkdir()
    topics.close()
    assert (tmp_path / "topics" / "t" / "1" / "checkpoint.json").is_file()


steps = st.lists(
    st.tuples(st.sampled_from(["create", "grow", "configure", "delete"]), st.sampled_from(["a", "a.b", "a_b"])),
    max_size=12,
)


@settings(deadline=None)
@given(steps)
def test_a_restart_after_any_history_finds_the_same_topics(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("topics")
    topics = registry(folder)
    for number, (step, name) in enumerate(rows):
        try:
            if step == "create":
                topics.create(name, 1, {})
            elif step == "grow":
                topics.grow(name, number + 2)
            elif step == "configure":
                topics.configure(name, {"retention.ms": str(number)})
            else:
                topics.delete(name)
        except KafkaError:
            continue
    assert facts(registry(folder)) == facts(topics)
