from pathlib import Path
from threading import Event, Thread

import pytest

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.admission import Appended
from kaas.storage.log.config import DEFAULT_CONFIG
from kaas.storage.log.partition import END_OF_LOG, PartitionLog
from kaas.wire.records.control import MarkerKind
from tests.storage.log.making import NOW, batch, config, disk_takes, marker, plain, seen

SIZE = len(batch("x", at=NOW))


@pytest.fixture
def topic_folder(tmp_path):
    path = tmp_path / "topic"
    path.mkdir()
    return path


@pytest.fixture
def log(topic_folder, resources):
    return PartitionLog(str(topic_folder), 0, DEFAULT_CONFIG, resources)


def append(log, *requests, now=NOW) -> list[int | ErrorCode]:
    return [one.base_offset if isinstance(one, Appended) else one.code for one in log.append(requests, now)]


def code_of(call) -> ErrorCode:
    with pytest.raises(KafkaError) as raised:
        call()
    return raised.value.code


def read(log, offset, *, room=10**6, min_one=True, end=None):
    end_offset = log.view.high_watermark if end is None else end
    return seen(log.read(offset, room, end_offset, min_one=min_one).buffers)


def test_an_empty_log_has_no_folder_and_answers_from_nothing(log, topic_folder):
    assert (log.view.log_start_offset, log.view.last_stable_offset, log.view.high_watermark) == (0, 0, 0)
    assert (log.leader_epoch, log.end_of_epoch(0), log.end_of_epoch(1)) == (0, (0, 0), (-1, -1))
    assert (read(log, 0), log.newest(), log.first_at_or_after(0), log.aborted(0, 0)) == ([], None, None, [])
    assert code_of(lambda: read(log, 1)) == ErrorCode.OFFSET_OUT_OF_RANGE
    log.retain(NOW)
    log.flush_due(NOW)
    log.expire_producers(NOW)
    assert log.delete_records(END_OF_LOG, NOW) == 0 and log.take_rolled() is None
    log.close()
    assert not list(topic_folder.iterdir())


def test_records_come_back_from_memory_and_from_the_file(log):
    assert append(log, plain("a", "b"), plain("c")) == [0, 2]
    assert read(log, 0) == [(0, "a"), (1, "b"), (2, "c")]
    recent = log.read_recent(0, 10**6, 3, min_one=True)
    assert seen(recent.buffers) == read(log, 0) and recent.next_offset == 3
    assert log.read_recent(1, 10**6, 3, min_one=True) is None  # in the midst of a batch: ask the file
    assert log.read_recent(3, 10**6, 3, min_one=True) is None


@pytest.mark.parametrize("end", [1, 2, 3])
def test_memory_and_file_keep_the_same_bounds(log, end):
    append(log, *[plain("x") for _ in range(3)])
    for room in (0, SIZE - 1, SIZE, 2 * SIZE, 3 * SIZE):
        for min_one in (True, False):
            chunks = [one(0, room, end, min_one=min_one) for one in (log.read_recent, log.read)]
            assert (seen(chunks[0].buffers), *chunks[0][1:]) == (seen(chunks[1].buffers), *chunks[1][1:])


def test_a_committed_reader_stops_at_an_open_transaction(log):
    append(log, plain("a"), plain("b", producer=1, transactional=True), plain("c"))
    assert (log.view.last_stable_offset, log.view.high_watermark, log.is_open(1, 0)) == (1, 3, True)
    assert read(log, 0, end=log.view.last_stable_offset) == [(0, "a")]
    append(log, marker(MarkerKind.ABORT, producer=1))
    assert (log.view.last_stable_offset, log.is_open(1, 0)) == (4, False)
    assert [(one.producer_id, one.first_offset) for one in log.aborted(0, 4)] == [(1, 1)]
    assert log.aborted(4, 4) == []


def test_epochs_follow_the_leader(log):
    append(log, plain("a"))
    log.lead(3)
    log.lead(2)
    append(log, plain("b"))
    assert (log.leader_epoch, log.epoch_of(0), log.epoch_of(1)) == (3, 0, 3)
    assert (log.end_of_epoch(0), log.end_of_epoch(3), log.end_of_epoch(9)) == ((0, 1), (3, 2), (-1, -1))


def test_deleted_records_are_out_of_range(log):
    append(log, *[plain(value) for value in "abcd"])
    assert [log.delete_records(offset, NOW) for offset in (2, 1, 2)] == [2, 2, 2]
    assert code_of(lambda: read(log, 1)) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.read_recent(1, 10**6, 4, min_one=True) is None
    assert read(log, 2) == [(2, "c"), (3, "d")]
    for offset in (5, -2):
        assert code_of(lambda offset=offset: log.delete_records(offset, NOW)) == ErrorCode.OFFSET_OUT_OF_RANGE
    assert log.delete_records(END_OF_LOG, NOW) == 4
    assert append(log, plain("e")) == [4]


def test_deleting_records_removes_what_lies_before_and_nothing_by_its_age(log, topic_folder):
    log.config = config(segment_bytes=SIZE, retention_ms=10)
    append(log, *[plain("x", at=0) for _ in range(4)])
    assert log.delete_records(2, NOW) == 2
    assert [one.name[:20] for one in sorted((topic_folder / "0").glob("*.log"))] == [f"{n:020d}" for n in (2, 3)]


def test_records_of_a_log_that_is_only_compacted_are_not_deleted(log):
    append(log, plain("a"))
    log.config = config(cleanup_policy="compact")
    assert code_of(lambda: log.delete_records(1, NOW)) == ErrorCode.POLICY_VIOLATION


def test_old_segments_go_and_their_files_with_them(log, topic_folder):
    log.config = config(segment_bytes=SIZE, retention_ms=10)
    append(log, *[plain("x", at=NOW - age) for age in (30, 20, 5)])
    log.retain(NOW)
    assert log.view.log_start_offset == 2
    assert sorted(one.name for one in (topic_folder / "0").glob("*.log")) == ["00000000000000000002.log"]


def test_a_reader_of_an_older_view_asks_the_newer_one(log):
    """The view that a reader took is older than the removal of its files."""
    log.config = config(segment_bytes=SIZE, retention_ms=10)
    append(log, *[plain("x", at=NOW - age) for age in (30, 20, 5)])
    old = log.view
    log.retain(NOW)
    new, log._view = log.view, old

    asked = []

    def question(view):
        asked.append(view)
        if view is old:
            log._view = new
            view.segments[0].file.read(1, 0)
        return view.high_watermark

    assert log._look(question) == 3 and asked == [old, new]


def test_a_file_that_is_missing_for_no_reason_is_a_storage_error(log, topic_folder, open_files):
    append(log, plain("a"))
    log.view.segments[0].file.close()
    (topic_folder / "0" / "00000000000000000000.log").unlink()
    assert code_of(lambda: read(log, 0)) == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_folder_that_cannot_be_made_is_the_result(log, topic_folder):
    topic_folder.rmdir()
    assert append(log, plain("a"), plain("b")) == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    topic_folder.mkdir()
    assert append(log, plain("a")) == [0]


def test_reads_go_on_while_the_disk_is_full_and_writes_go_on_when_there_is_room(log):
    append(log, plain("a"))
    with disk_takes(SIZE + 5):
        assert append(log, plain("b")) == [ErrorCode.KAFKA_STORAGE_ERROR]
        assert read(log, 0) == [(0, "a")]
    assert append(log, plain("b")) == [1]
    assert read(log, 0) == [(0, "a"), (1, "b")]


def test_producers_expire(log):
    append(log, plain("a", producer=1))
    log.expire_producers(NOW + 1)
    assert append(log, plain("b", producer=1, sequence=9)) == [1]


def test_a_closed_log_is_read_and_not_written(log, resources, topic_folder):
    append(log, plain("a"))
    log.close()
    assert append(log, plain("b")) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert read(log, 0) == [(0, "a")]
    again = PartitionLog(str(topic_folder), 0, DEFAULT_CONFIG, resources)
    again.open(NOW)
    assert read(again, 0) == [(0, "a")] and append(again, plain("b")) == [1]


def test_a_deleted_log_knows_nothing(log, open_files):
    append(log, plain("a"))
    log.delete()
    assert append(log, plain("b")) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert code_of(lambda: read(log, 0)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert log.read_recent(0, 10**6, 1, min_one=True) is None
    assert code_of(lambda: log.view) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and len(open_files) == 0


def test_a_log_made_again_in_the_same_place_is_not_mixed_up_with_the_deleted_one(log, topic_folder, resources):
    append(log, plain("old"))
    old_view = log.view
    topic_folder.rename(topic_folder.parent / "gone")
    log.delete()
    topic_folder.mkdir()
    again = PartitionLog(str(topic_folder), 0, DEFAULT_CONFIG, resources)
    append(again, plain("new"))
    assert read(again, 0) == [(0, "new")]
    with pytest.raises(FileNotFoundError):
        old_view.read(0, 10**6, 1, min_one=True)


def test_readers_beside_the_appender_see_whole_batches_in_order(log):
    """Four readers follow the log from its start while it grows, begins new segments and drops old ones."""
    log.config = config(segment_bytes=40 * SIZE, retention_bytes=200 * SIZE, index_interval_bytes=100)
    done, faults = Event(), []

    def next_chunk(offset: int, *, from_memory: bool):
        bounds = (offset, 5 * SIZE, log.view.high_watermark)
        chunk = log.read_recent(*bounds, min_one=True) if from_memory else None
        return chunk or log.read(*bounds, min_one=True)

    def follow(name: int) -> None:
        offset = 0
        while not (done.is_set() and offset == log.view.high_watermark):
            offset = max(offset, log.view.log_start_offset)
            try:
                chunk = next_chunk(offset, from_memory=name % 2 == 0)
            except KafkaError as error:
                if error.code != ErrorCode.OFFSET_OUT_OF_RANGE:  # retention was faster
                    faults.append(error)
                continue
            rows = seen(chunk.buffers)
            if rows != [(o, f"{o:09d}") for o in range(offset, chunk.next_offset)]:
                faults.append((offset, rows))
            offset = chunk.next_offset

    readers = [Thread(target=follow, args=(name,)) for name in range(4)]
    for reader in readers:
        reader.start()
    number = 0
    for _ in range(60):
        requests = [plain(f"{number + i:09d}") for i in range(10)]
        number += 10
        assert append(log, *requests)[0] == number - 10
        log.retain(NOW)
    done.set()
    for reader in readers:
        reader.join()
    assert not faults
    assert log.view.log_start_offset > 0


def test_a_log_that_cannot_be_opened_says_so_to_every_call(log, topic_folder):
    (topic_folder / "0").write_bytes(b"a file where a folder should be")
    for call in (lambda: log.open(NOW), lambda: log.view, lambda: log.newest(), lambda: log.delete_records(0, NOW)):
        assert code_of(call) == ErrorCode.KAFKA_STORAGE_ERROR
    assert append(log, plain("a")) == [ErrorCode.KAFKA_STORAGE_ERROR]
    log.close()


def test_the_folder_of_a_log_is_named_by_its_partition(log, topic_folder):
    append(log, plain("a"))
    assert Path(log.folder) == topic_folder / "0" and Path(log.folder).is_dir()
