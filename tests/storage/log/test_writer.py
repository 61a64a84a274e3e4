import pytest

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.admission import Append, Appended
from kaas.storage.log.checkpoint import read_checkpoint
from kaas.storage.log.recovery import new_log
from kaas.storage.log.writer import LogWriter
from tests.storage.log.making import NOW, batch, config, disk_takes, plain

PLAIN = config()


@pytest.fixture
def writer(folder, resources):
    return LogWriter(str(folder), resources, new_log())


def outcomes(results) -> list[int | ErrorCode]:
    """The offset, or the error, of each result."""
    return [one.base_offset if isinstance(one, Appended) else one.code for one in results]


def append(writer, *requests: Append, settings=PLAIN, now=NOW) -> list[int | ErrorCode]:
    return outcomes(writer.append(requests, settings, now))


def bases(writer) -> list[int]:
    return [segment.base_offset for segment in writer.segments]


def test_each_batch_has_its_own_result(writer):
    bad = Append(data=batch("b")[:-1])
    assert append(writer, plain("a", "b"), bad, plain("c")) == [0, ErrorCode.INVALID_RECORD, 2]
    view = writer.view()
    assert (view.log_start_offset, view.last_stable_offset, view.high_watermark) == (0, 3, 3)


def test_the_newest_batches_are_in_memory_by_their_offset(writer):
    append(writer, plain("a", "b"), plain("c"))
    assert list(writer.recent) == [0, 2]
    assert b"".join(writer.recent.values()) == writer.segments[0].file.read(999, 0)


# New segments

SIZE = len(batch("x", at=NOW))


def test_a_segment_holds_as_many_bytes_as_its_limit(writer):
    settings = config(segment_bytes=3 * SIZE)
    append(writer, *[plain("x") for _ in range(7)], settings=settings)
    assert bases(writer) == [0, 3, 6]
    append(writer, plain("x"), plain("x"), plain("x"), settings=settings)
    assert bases(writer) == [0, 3, 6, 9]


@pytest.mark.parametrize(("later", "rolls"), [(100, False), (101, True)])
def test_a_segment_ends_when_a_batch_is_too_much_younger_than_its_first(writer, later, rolls):
    settings = config(segment_ms=100)
    append(writer, plain("a", at=NOW), settings=settings)
    append(writer, plain("b", at=NOW + later), settings=settings)
    assert bases(writer) == ([0, 1] if rolls else [0])


def test_the_jitter_ends_a_segment_earlier_by_the_same_time_after_a_restart(writer):
    settings = config(segment_ms=1000, segment_jitter_ms=900)
    jitter = writer._jitter_ms(writer._draft(NOW).segment, settings)
    assert 0 <= jitter < 900
    append(writer, plain("a", at=NOW), plain("b", at=NOW + 1000 - jitter), settings=settings)
    assert bases(writer) == [0]
    append(writer, plain("c", at=NOW + 1001 - jitter), settings=settings)
    assert bases(writer) == [0, 2]


def test_a_full_index_ends_a_segment(writer):
    settings = config(index_interval_bytes=0, segment_index_bytes=16)
    for _ in range(6):
        append(writer, plain("x"), settings=settings)
    assert bases(writer) == [0, 3]


def test_full_segments_are_indexed_and_closed(writer, folder, open_files):
    append(writer, *[plain("x") for _ in range(4)], settings=config(segment_bytes=SIZE))
    assert len(list(folder.glob("*.timeindex"))) == 3
    assert len(open_files) == 1


# A disk that refuses


def full(writer, extra: int):
    """Room for so many more bytes in the segment that is written."""
    return disk_takes(writer.segments[-1].size + extra)


def test_a_failed_write_is_the_result_of_all_its_batches_and_the_log_is_as_it_was(writer):
    append(writer, plain("a", producer=1))
    before = writer.view(), writer.segments[0].file.read(999, 0), writer.state.producers.snapshot()
    with full(writer, 3 * SIZE):
        assert (
            append(writer, *[plain("b", producer=1, sequence=s) for s in (1, 2, 3)], plain("c"))
            == [ErrorCode.KAFKA_STORAGE_ERROR] * 4
        )
    assert (writer.view(), writer.segments[0].file.read(999, 0), writer.state.producers.snapshot()) == before
    assert list(writer.recent) == [0]
    assert append(writer, plain("b", producer=1, sequence=1)) == [1]


def test_a_repeated_batch_shares_the_fate_of_the_one_it_repeats(writer):
    again = plain("a", producer=1)
    with disk_takes(10):
        assert append(writer, again, again) == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    assert append(writer, again, again, plain("b", producer=1, sequence=1)) == [0, 0, 1]
    assert append(writer, again) == [0]


def test_an_error_that_was_found_before_stays_the_result(writer):
    with disk_takes(10):
        assert append(writer, Append(data=b""), plain("a")) == [
            ErrorCode.INVALID_RECORD,
            ErrorCode.KAFKA_STORAGE_ERROR,
        ]


def test_after_a_failed_segment_the_rest_is_judged_anew(writer):
    """The batch that would begin a new segment fails with the old one; a producer's next batch is then out of order."""
    settings = config(segment_bytes=3 * SIZE)
    append(writer, plain("x", producer=1), settings=settings)
    requests = [plain("x", producer=1, sequence=s) for s in range(1, 5)]
    with full(writer, SIZE):
        results = append(writer, *requests, settings=settings)
    assert results == [ErrorCode.KAFKA_STORAGE_ERROR] * 3 + [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    assert append(writer, *requests, settings=settings) == [1, 2, 3, 4]


def test_an_index_that_cannot_be_written_does_not_stop_the_log(writer, folder):
    settings = config(segment_bytes=1000)
    append(writer, *[plain("x") for _ in range(10)], settings=settings)
    path = folder / "00000000000000000000.timeindex"
    path.mkdir()
    append(writer, *[plain("x") for _ in range(10)], settings=settings)
    assert len(bases(writer)) == 2 and not writer.segments[0].saved
    path.rmdir()
    writer.checkpoint()
    assert writer.segments[0].saved and path.is_file()


# Durability


class CountingFile:
    def __init__(self, monkeypatch) -> None:
        self.count = 0
        from kaas.storage.log.files import StoredFile

        real = StoredFile.sync

        def sync(file: StoredFile) -> None:
            self.count += file.path.endswith(".log")
            real(file)

        monkeypatch.setattr(StoredFile, "sync", sync)


@pytest.fixture
def syncs(monkeypatch):
    return CountingFile(monkeypatch)


def test_nothing_is_synchronised_by_default(writer, syncs):
    append(writer, *[plain("x") for _ in range(50)])
    writer.flush_due(PLAIN, NOW + 10**9)
    assert syncs.count == 0


def test_a_log_is_synchronised_after_so_many_records(writer, syncs):
    settings = config(flush_messages=3)
    for values in (["a", "b"], ["c"], ["d"], ["e", "f", "g"]):
        append(writer, plain(*values), settings=settings)
    assert syncs.count == 2
    append(writer, plain("h"), plain("i"), plain("j"), settings=settings)
    assert syncs.count == 3


def test_a_log_is_synchronised_after_so_long(writer, syncs):
    settings = config(flush_ms=100)
    append(writer, plain("a"), settings=settings)
    append(writer, plain("b"), settings=settings, now=NOW + 90)
    for late, count in ((99, 0), (100, 1), (300, 1)):
        writer.flush_due(settings, NOW + late)
        assert syncs.count == count


def test_a_sync_that_fails_fails_the_append(writer, monkeypatch):
    from kaas.storage.log.files import StoredFile

    def refuse(file: StoredFile) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(StoredFile, "sync", refuse)
        assert append(writer, plain("a"), settings=config(flush_messages=1)) == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert writer.view().high_watermark == 0 and writer.segments[0].file.read(999, 0) == b""
    assert append(writer, plain("a"), settings=config(flush_messages=1)) == [0]


def test_full_segments_are_checkpointed_once_they_are_on_the_disk(writer, folder):
    settings = config(segment_bytes=2 * SIZE)
    append(writer, *[plain("x", producer=1, sequence=s) for s in range(3)], settings=settings)
    rolled = writer.take_rolled()
    assert [one.base_offset for one in rolled.segments] == [0] and writer.take_rolled() is None
    append(writer, *[plain("x", producer=1, sequence=s) for s in range(3, 6)], settings=settings)
    writer.confirm(rolled)
    checkpoint = read_checkpoint(str(folder))
    assert (checkpoint.segment, checkpoint.size, checkpoint.next_offset) == (2, 0, 2)
    assert checkpoint.producers.producers[1].last_sequence == 1
    assert [one.base_offset for one in writer.take_rolled().segments] == [0, 2]


def test_an_older_confirmation_does_not_undo_a_newer_checkpoint(writer, folder):
    append(writer, *[plain("x") for _ in range(3)], settings=config(segment_bytes=2 * SIZE))
    rolled = writer.take_rolled()
    writer.checkpoint()
    writer.confirm(rolled)
    assert read_checkpoint(str(folder)).next_offset == 3


def test_a_checkpoint_covers_everything(writer, folder):
    append(writer, *[plain("x") for _ in range(5)], settings=config(segment_bytes=2 * SIZE))
    writer.checkpoint_changes()
    checkpoint = read_checkpoint(str(folder))
    assert (checkpoint.segment, checkpoint.size, checkpoint.next_offset) == (4, SIZE, 5)
    stamp = (folder / "checkpoint.json").stat().st_ino
    writer.checkpoint_changes()
    assert (folder / "checkpoint.json").stat().st_ino == stamp


# What goes


def test_the_oldest_segments_are_taken_out_and_the_log_begins_later(writer):
    append(writer, *[plain("x") for _ in range(4)], settings=config(segment_bytes=SIZE))
    gone = writer.take_out(2, NOW)
    assert [one.base_offset for one in gone] == [0, 1]
    assert (bases(writer), writer.view().log_start_offset) == ([2, 3], 2)
    assert writer.take_out(0, NOW) == ()


def test_a_log_that_loses_every_segment_keeps_its_place(writer, folder):
    append(writer, plain("a"), plain("b"))
    gone = writer.take_out(1, NOW)
    assert [one.base_offset for one in gone] == [0] and bases(writer) == [2]
    view = writer.view()
    assert (view.log_start_offset, view.high_watermark) == (2, 2)
    assert (folder / "00000000000000000002.log").stat().st_size == 0
    assert append(writer, plain("c")) == [2]


def test_the_start_of_the_log_moves_durably_or_not_at_all(writer, folder):
    append(writer, *[plain("x") for _ in range(4)])
    writer.delete_records(2)
    assert (writer.view().log_start_offset, read_checkpoint(str(folder)).log_start_offset) == (2, 2)
    with disk_takes(10), pytest.raises(KafkaError) as raised:
        writer.delete_records(3)
    assert raised.value.code == ErrorCode.KAFKA_STORAGE_ERROR and writer.view().log_start_offset == 2
