from types import SimpleNamespace

import pytest

from kaas.broker.fetch_sessions import FetchedPartition
from kaas.broker.fetching import Limits, Wanted, read_partitions
from kaas.errors import ErrorCode
from kaas.storage.log.config import DEFAULT_CONFIG
from kaas.storage.log.files import OpenFiles
from kaas.storage.log.partition import PartitionLog
from kaas.storage.log.recent import RecentBatches
from kaas.storage.log.writer import LogResources
from kaas.wire.records.control import MarkerKind
from tests.storage.log.making import NOW, batch, marker, plain, seen

SIZE = len(batch("x", at=NOW))
LOTS = 10**6


def new_log(tmp_path, number=0, *, in_memory=True) -> PartitionLog:
    (tmp_path / "topic").mkdir(exist_ok=True)
    resources = LogResources(OpenFiles(), RecentBatches() if in_memory else RecentBatches(0))
    return PartitionLog(str(tmp_path / "topic"), number, DEFAULT_CONFIG, resources)


@pytest.fixture
def log(tmp_path):
    one = new_log(tmp_path)
    one.append([plain("a"), plain("b"), plain("c")], NOW)
    return one


def wanted(log, offset=0, max_bytes=LOTS, epoch=-1) -> Wanted:
    row = SimpleNamespace(fetch_offset=offset, partition_max_bytes=max_bytes, current_leader_epoch=epoch)
    return Wanted(asked=FetchedPartition(("t", 0), row), log=log)


def read(*rows: Wanted, max_bytes=LOTS, committed=False, from_memory=True):
    return read_partitions(rows, Limits(max_bytes=max_bytes, committed=committed), from_memory=from_memory)


def values(row):
    return [value for _, value in seen(row.buffers)]


def test_a_row_has_the_records_and_the_bounds_of_the_log(log):
    (row,) = read(wanted(log, 1))
    assert (row.code, values(row), row.size) == (0, ["b", "c"], 2 * SIZE)
    assert (row.high_watermark, row.last_stable_offset, row.log_start_offset, row.aborted) == (3, 3, 0, None)


def test_a_row_says_whether_the_limits_kept_something_back(log):
    rows = [read(wanted(log, max_bytes=room))[0] for room in (0, SIZE, 2 * SIZE, 3 * SIZE)]
    assert [row.has_more for row in rows] == [True, True, True, False]
    assert not read(wanted(log, 3))[0].has_more


def test_a_row_at_the_end_is_empty(log):
    (row,) = read(wanted(log, 3))
    assert (row.code, row.buffers, row.high_watermark) == (0, [], 3)


@pytest.mark.parametrize("from_memory", [True, False])
def test_what_is_in_files_only_is_not_read_from_memory(tmp_path, from_memory):
    log = new_log(tmp_path, in_memory=False)
    log.append([plain("a")], NOW)
    rows = read(wanted(log), from_memory=from_memory)
    assert rows is None if from_memory else values(rows[0]) == ["a"]
    assert read(wanted(log, 1)) is not None  # nothing to read at the end


def test_the_limits_of_a_partition_and_of_all(log, tmp_path):
    other = new_log(tmp_path, 1)
    other.append([plain("d"), plain("e")], NOW)
    assert [values(row) for row in read(wanted(log, max_bytes=2 * SIZE), wanted(other))] == [["a", "b"], ["d", "e"]]
    assert [values(row) for row in read(wanted(log), wanted(other), max_bytes=4 * SIZE)] == [["a", "b", "c"], ["d"]]


def test_the_first_batch_comes_whatever_the_limits_and_only_that(log, tmp_path):
    other = new_log(tmp_path, 1)
    other.append([plain("d")], NOW)
    assert [values(row) for row in read(wanted(log, max_bytes=0), wanted(other, max_bytes=1))] == [["a"], []]
    assert [values(row) for row in read(wanted(log, 3), wanted(other), max_bytes=0)] == [[], ["d"]]


@pytest.mark.parametrize(
    ("offset", "epoch", "code"),
    [
        (4, -1, ErrorCode.OFFSET_OUT_OF_RANGE),
        (-1, -1, ErrorCode.OFFSET_OUT_OF_RANGE),
        (0, 3, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (0, 1, ErrorCode.FENCED_LEADER_EPOCH),
    ],
)
def test_an_error_is_the_row_of_its_partition_and_stops_no_other(log, offset, epoch, code):
    log.lead(2)
    bad, good = read(wanted(log, offset, epoch=epoch), wanted(log, epoch=2))
    assert (bad.code, good.code, values(good)) == (code, ErrorCode.NONE, ["a", "b", "c"])
    assert (bad.high_watermark, bad.last_stable_offset, bad.log_start_offset, bad.size) == (-1, -1, -1, 0)


def test_a_partition_that_was_not_found_says_why(log):
    one = Wanted(asked=wanted(log).asked, log=None, refusal=ErrorCode.UNKNOWN_TOPIC_ID)
    bad, good = read(one, wanted(log))
    assert (bad.code, bad.aborted, good.code) == (ErrorCode.UNKNOWN_TOPIC_ID, [], ErrorCode.NONE)


def test_a_topic_that_was_deleted_is_unknown(log):
    log.delete()
    assert read(wanted(log))[0].code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_committed_reader_stops_at_the_last_stable_offset_and_is_told_what_was_aborted(tmp_path):
    log = new_log(tmp_path)
    log.append([plain("a"), plain("b", producer=1, transactional=True), plain("c")], NOW)
    (held,) = read(wanted(log), committed=True)
    assert (values(held), held.last_stable_offset, held.high_watermark, held.aborted) == (["a"], 1, 3, [])
    log.append([marker(MarkerKind.ABORT, producer=1)], NOW)
    (free,) = read(wanted(log), committed=True)
    assert values(free) == ["a", "b", "c"]
    assert [(one.producer_id, one.first_offset) for one in free.aborted] == [(1, 1)]
    assert read(wanted(log, 4), committed=True)[0].aborted == []
