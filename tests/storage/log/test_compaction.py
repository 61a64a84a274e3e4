from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log import compaction as module
from kaas.storage.log.files import OpenFiles
from kaas.storage.log.partition import PartitionLog
from kaas.storage.log.recent import RecentBatches
from kaas.storage.log.writer import LogResources
from kaas.wire.records.control import MarkerKind
from tests.storage.log.making import NOW, config, disk_takes, marker, plain, seen
from tests.storage.log.test_recovery import everything

SETTINGS = {
    "cleanup_policy": "compact",
    "segment_bytes": 400,
    "min_cleanable_dirty_ratio": 0,
    "index_interval_bytes": 100,
}


def new_log(folder, **settings) -> PartitionLog:
    resources = LogResources(OpenFiles(), RecentBatches(0))
    return PartitionLog(str(folder.parent), int(folder.name), config(**{**SETTINGS, **settings}), resources)


@pytest.fixture
def log(folder):
    return new_log(folder)


def put(log, *pairs: str, **more) -> None:
    """One batch for each "key=value"; "key=" is a tombstone."""
    requests = []
    for pair in pairs:
        key, _, value = pair.partition("=")
        requests.append(plain(value or None, keys=[key], **more))
    assert not [one for one in log.append(requests, NOW) if isinstance(one, KafkaError)]


def compact(log, now=NOW) -> bool:
    """A whole pass; false: none is due."""
    compaction = log.compaction(now)
    if compaction is None:
        return False
    for _ in compaction:
        pass
    return True


def latest(log) -> dict[str, str]:
    """What a reader of the whole log ends up with."""
    return {value.partition(":")[0]: value for _, value in everything(log)}


def test_the_last_value_of_each_key_stays_at_its_offset(log):
    put(log, *[f"k{i % 3}=k{i % 3}:{i}" for i in range(30)])
    before, full = latest(log), log.view.segments[-1].base_offset
    assert compact(log)
    rows = everything(log)
    assert latest(log) == before and [value for _, value in rows if value.endswith(f":{full - 1}")]
    compacted = [offset for offset, _ in rows if offset < full]
    assert compacted == [full - 3, full - 2, full - 1] and rows[-1][0] == 29
    assert (log.view.log_start_offset, log.view.high_watermark) == (0, 30)


def test_readers_find_their_way_over_the_gaps(log):
    put(log, *[f"k{i % 3}=k:{i}" for i in range(30)])
    compact(log)
    kept = [offset for offset, _ in everything(log)]
    for offset in range(30):
        chunk = log.read(offset, 1, 30, min_one=True)
        assert seen(chunk.buffers)[0][0] == min(one for one in kept if one >= offset)
    assert log.first_at_or_after(0).offset == kept[0] and log.newest().offset == kept[0]


def test_a_pass_is_only_done_when_there_is_something_new(log):
    put(log, *[f"k=k:{i}" for i in range(20)])
    assert compact(log) and not compact(log)
    put(log, *[f"k=k:{i}" for i in range(20)])
    assert compact(log)


def test_a_log_that_is_not_compacted_is_left_alone(folder):
    log = new_log(folder, cleanup_policy="delete")
    log.append([plain("v") for _ in range(20)], NOW)
    assert not compact(log)


def test_small_segments_become_one(log):
    counts = []
    for _ in range(10):
        put(log, *[f"k{i % 2}=k:{i}" for i in range(12)])
        compact(log)
        counts.append(len(log.view.segments))
    assert max(counts) <= 6


def test_tombstones_go_when_their_time_is_over(folder):
    log = new_log(folder, delete_retention_ms=1000)
    put(log, "a=a:1", "b=b:1", "a=", *["c=c:1"] * 10)
    compact(log)
    assert [offset for offset, _ in everything(log)][:2] == [1, 2]
    put(log, *["c=c:2"] * 10)
    compact(log, NOW + 1000)
    assert 2 in [offset for offset, _ in everything(log)]
    put(log, *["c=c:3"] * 10)
    compact(log, NOW + 1001)
    assert 2 not in [offset for offset, _ in everything(log)]


def test_an_open_transaction_holds_compaction_back(log):
    put(log, *["k=k:1"] * 8)
    held = log.view.high_watermark
    put(log, "k=k:2", producer=1, transactional=True)
    put(log, *["k=k:3"] * 20)
    compact(log)
    rows = everything(log)
    assert [offset for offset, _ in rows if offset >= held] == list(range(held, log.view.high_watermark))


def test_aborted_records_go_and_committed_ones_stay(log):
    put(log, "a=a:old", "b=b:old")
    put(log, "a=a:aborted", producer=1, transactional=True)
    log.append([marker(MarkerKind.ABORT, producer=1)], NOW)
    put(log, "b=b:committed", producer=2, transactional=True)
    log.append([marker(MarkerKind.COMMIT, producer=2)], NOW)
    put(log, *["c=c:1"] * 12)
    compact(log)
    kept = [value for _, value in everything(log)]
    assert "a:aborted" not in kept and "a:old" in kept and "b:committed" in kept and "b:old" not in kept


def test_producers_are_known_after_a_restart_although_their_batches_are_gone(log, folder):
    for sequence in range(12):
        put(log, "k=k:1", producer=1, sequence=sequence)
    compact(log)
    again = new_log(folder)
    again.open(NOW)
    assert again.append([plain("k", keys=["k"], producer=1, sequence=14)], NOW)[0].code == (
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    )
    put(again, "k=k:2", producer=1, sequence=12)


def test_a_pass_learns_as_many_keys_as_it_may_and_the_next_one_goes_on(log, monkeypatch):
    monkeypatch.setattr(module, "KEYS_PER_PASS", 4)
    put(log, *[f"k{i % 8}=k{i % 8}:{i}" for i in range(40)])
    before = latest(log)
    passes = 0
    while compact(log):
        passes += 1
        assert latest(log) == before
    assert passes > 1


def test_appends_and_reads_go_on_between_the_pieces(log, monkeypatch):
    monkeypatch.setattr(module, "PIECE_BYTES", 100)
    put(log, *[f"k{i % 3}=k{i % 3}:{i}" for i in range(30)])
    compaction, pieces = log.compaction(NOW), 0
    for _ in compaction:
        pieces += 1
        put(log, f"new{pieces}=new{pieces}:1")
        everything(log)
    assert pieces > 10
    assert sum(value.startswith("new") for _, value in everything(log)) == pieces


def test_a_pass_ends_without_harm_when_its_segments_are_gone(folder, monkeypatch):
    monkeypatch.setattr(module, "PIECE_BYTES", 100)
    log = new_log(folder, cleanup_policy="compact,delete")
    put(log, *[f"k=k:{i}" for i in range(30)])
    compaction = log.compaction(NOW)
    next(compaction)
    log.delete_records(20, NOW)
    before = everything(log)
    for _ in compaction:
        pass
    assert everything(log) == before and not list(folder.glob("*.tmp")) and not list(folder.glob("*.swap"))
    assert compact(log)


def test_a_pass_over_a_log_that_is_deleted_meanwhile_ends(log, monkeypatch):
    monkeypatch.setattr(module, "PIECE_BYTES", 100)
    put(log, *[f"k=k:{i}" for i in range(30)])
    compaction = log.compaction(NOW)
    next(compaction)
    log.delete()
    for _ in compaction:
        pass


def test_a_full_disk_leaves_the_log_as_it_was(log, folder):
    put(log, *[f"k{i}=k{i}:{i}" for i in range(30)])
    before = everything(log)
    with disk_takes(100), pytest.raises(KafkaError) as raised:
        compact(log)
    assert raised.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert everything(log) == before and not list(folder.glob("*.tmp"))
    assert compact(log) and everything(log) == before


@pytest.mark.parametrize("where", range(28))
def test_a_crash_at_any_step_of_a_swap_is_finished_or_undone(folder, monkeypatch, where):
    """The process stops before the n-th change of a name in the folder."""
    log = new_log(folder)
    put(log, *[f"k{i % 3}=k{i % 3}:{i}" for i in range(30)])
    before, steps = latest(log), []

    class Crash(BaseException):
        pass

    def counted(real):
        def step(*args, **more):
            steps.append(1)
            if len(steps) > where:
                raise Crash
            return real(*args, **more)

        return step

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", counted(Path.replace))
        patch.setattr(Path, "unlink", counted(Path.unlink))
        with suppress(Crash):
            compact(log)
    again = new_log(folder)
    again.open(NOW)
    assert latest(again) == before and again.view.high_watermark == 30
    compact(again)
    assert latest(again) == before


def test_readers_beside_a_compaction_lose_no_key(folder, monkeypatch):
    monkeypatch.setattr(module, "PIECE_BYTES", 300)
    log, done, faults = new_log(folder), Event(), []
    put(log, *[f"k{i % 5}=k{i % 5}:{i}" for i in range(100)])

    def follow() -> None:
        while not done.is_set():
            keys = {value[:2] for _, value in everything(log)}
            if keys != {f"k{i}" for i in range(5)}:
                faults.append(keys)

    readers = [Thread(target=follow) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(8):
        put(log, *[f"k{i % 5}=k{i % 5}:{number}" for i in range(20)])
        compact(log)
    done.set()
    for reader in readers:
        reader.join()
    assert not faults


pairs = st.lists(st.tuples(st.sampled_from("abcde"), st.booleans()), min_size=1, max_size=60)


@given(pairs, st.integers(1, 3))
def test_a_reader_ends_up_with_the_same_values_after_any_number_of_passes(tmp_path_factory, rows, rounds):
    folder = tmp_path_factory.mktemp("compaction") / "t" / "0"
    folder.mkdir(parents=True)
    log = new_log(folder)

    def table() -> dict[str, str]:
        out: dict[str, str] = {}
        for offset, value in everything(log):
            out[keys[offset]] = value
        return {key: value for key, value in out.items() if value}

    keys: list[str] = []
    for number in range(rounds):
        for key, is_tombstone in rows:
            keys.append(key)
            put(log, f"{key}=" if is_tombstone else f"{key}={number}:{len(keys)}")
        before = table()
        compact(log, NOW + 100_000_000 * number)
        assert table() == before
