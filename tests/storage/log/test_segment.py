import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.aborted import AbortedTransaction, unpack_aborted
from kaas.storage.log.segment import Segment, segment_path
from kaas.wire.records.header import read_header
from kaas.wire.records.rewrite import placed
from tests.storage.log.making import NOW, batch, disk_takes, seen

INTERVAL = 150  # bytes between two pairs of an index: a pair for every other batch of these tests


def fill(segment: Segment, *batches: bytes, gap: int = 0) -> None:
    """Writes batches at the end of a segment, `gap` offsets apart."""
    offset = segment.base_offset
    for _, header, _ in segment.walk(0, segment.size):
        offset = header.next_offset
    for data in batches:
        one = placed(data, read_header(data), offset, 0)
        segment.write([one])
        segment.note(read_header(one), INTERVAL)
        offset = read_header(one).next_offset + gap


@pytest.fixture
def segment(open_files, folder):
    return Segment.new(open_files, str(folder), 100, NOW)


@pytest.fixture
def ten(segment):
    """Ten batches of two records, offsets 100 to 119."""
    fill(segment, *[batch(f"a{i}", f"b{i}", at=[NOW + i, NOW + i]) for i in range(10)])
    return segment


def all_of(segment: Segment, offset: int, end: int = 120, room: int = 10**6, *, min_one: bool = True):
    chunk = segment.read(offset, room, end, min_one=min_one)
    return None if chunk is None else (seen(chunk.buffers), chunk.next_offset)


def test_the_file_is_named_by_its_base_offset_in_20_digits(ten, folder):
    assert ten.file.path == segment_path(str(folder), 100) == f"{folder}/00000000000000000100.log"
    assert [one.name for one in folder.iterdir()] == ["00000000000000000100.log"]


def test_a_segment_makes_no_file_before_it_is_written(segment, folder):
    assert not list(folder.iterdir())
    assert (segment.max_timestamp, segment.first_timestamp, segment.size) == (-1, -1, 0)


@pytest.mark.parametrize("offset", range(100, 120))
def test_a_read_begins_with_the_batch_that_holds_the_offset(ten, offset):
    first = offset - offset % 2
    rows, next_offset = all_of(ten, offset)
    assert [o for o, _ in rows] == list(range(first, 120)) and next_offset == 120


def test_a_read_ends_below_the_end_offset(ten):
    rows, next_offset = all_of(ten, 104, end=110)
    assert ([o for o, _ in rows], next_offset) == ([104, 105, 106, 107, 108, 109], 110)


def test_a_read_after_the_last_batch_finds_none(ten):
    assert all_of(ten, 120) is None


def test_whole_batches_within_the_room_and_one_at_least_if_asked(ten):
    size = len(batch("a0", "b0", at=[NOW, NOW]))
    for room, count in ((0, 1), (size - 1, 1), (size, 1), (2 * size - 1, 1), (2 * size, 2), (10 * size, 10)):
        assert all_of(ten, 100, room=room)[1] == 100 + 2 * count
        assert all_of(ten, 100, room=room, min_one=False)[1] == 100 + 2 * (count if room >= size else 0)


def test_a_batch_larger_than_what_is_read_at_once_comes_whole(segment):
    fill(segment, batch("small"), batch("x" * 3_000_000), batch("y" * 200_000), batch("small"))
    rows, _ = all_of(segment, 101, end=104, room=1000)
    assert [(o, len(v)) for o, v in rows] == [(101, 3_000_000)]
    assert [header.base_offset for _, header, _ in segment.walk(0, segment.size)] == [100, 101, 102, 103]
    assert [(o, len(v)) for o, v in all_of(segment, 102, end=104)[0]] == [(102, 200_000), (103, 5)]


def test_a_gap_that_compaction_left_is_passed_over(segment):
    fill(segment, batch("a"), batch("b"), batch("c"), gap=10)
    assert all_of(segment, 101, end=200) == ([(111, "b"), (122, "c")], 123)
    assert all_of(segment, 101, end=115) == ([(111, "b")], 112)


def test_indexes_are_sparse_and_saved_for_the_next_start(ten, open_files, folder):
    assert 3 <= len(ten.offsets) < 10 and ten.offsets.floor(19)[0] % 2 == 0
    before = [all_of(ten, offset) for offset in range(100, 120)]
    ten.save()
    ten.sync()
    ten.release()
    assert {one.suffix for one in folder.iterdir()} == {".log", ".index", ".timeindex"}
    assert [all_of(ten, offset) for offset in range(100, 120)] == before
    assert (ten.max_timestamp, ten.max_timestamp_offset) == (NOW + 9, 118)


def test_times_are_those_of_the_greatest_record_and_the_first_batch(segment):
    fill(segment, batch("a", "b", at=[30, 50]), batch("c", at=70), batch("d", at=70), batch("e", at=10))
    assert (segment.first_timestamp, segment.max_timestamp, segment.max_timestamp_offset) == (50, 70, 102)


def test_a_segment_without_times_has_none(segment):
    fill(segment, batch("a", at=-1))
    segment.save()
    assert (segment.max_timestamp, len(segment.times)) == (-1, 0)


def test_aborted_transactions_are_saved_with_the_indexes(ten, folder):
    one = AbortedTransaction(producer_id=5, first_offset=100, last_offset=104, last_stable_offset=105)
    ten.aborted.append(one)
    ten.save()
    ten.sync()
    path = folder / "00000000000000000100.txnindex"
    assert unpack_aborted(path.read_bytes()) == [one]
    ten.remove()
    assert not list(folder.iterdir())


def test_a_save_that_fails_is_tried_again(ten, folder):
    with disk_takes(4), pytest.raises(OSError):
        ten.save()
    assert not ten.saved
    ten.save()
    assert ten.saved and (folder / "00000000000000000100.index").stat().st_size == 8 * len(ten.offsets)


def test_a_write_that_failed_is_cut_off_before_the_next(ten):
    size = ten.size
    with disk_takes(size + 20), pytest.raises(OSError):
        ten.write([b"x" * 100])
    assert len(ten.file.read(10**6, 0)) == size + 20
    fill(ten, batch("next"))
    assert ten.file.read(10**6, 0)[size:] == placed(batch("next"), read_header(batch("next")), 120, 0)


def test_a_cut_forgets_what_lies_behind(ten):
    position = next(start for start, header, _ in ten.walk(0, ten.size) if header.base_offset == 106)
    ten.aborted = [
        AbortedTransaction(producer_id=1, first_offset=100, last_offset=last, last_stable_offset=0)
        for last in (105, 106)
    ]
    ten.cut(position, 106)
    ten.cut_file()
    assert (ten.size, all_of(ten, 100)[1], all_of(ten, 106)) == (position, 106, None)
    assert [one.last_offset for one in ten.aborted] == [105]
    assert ten.offsets.last[1] < position and ten.times.last[1] < 6


def test_a_segment_takes_offsets_and_index_pairs_up_to_its_limits(ten):
    assert ten.takes(100 + 2**31 - 1, 10_000) and not ten.takes(100 + 2**31, 10_000)
    assert ten.takes(120, ten.offsets.size + 8) and not ten.takes(120, ten.offsets.size + 7)


def test_bytes_that_are_no_batch_are_corrupt(segment):
    segment.write([b"\xff" * 500])
    segment.size = 500
    for question in (lambda: segment.locate(100), lambda: list(segment.walk(0, 500))):
        with pytest.raises(KafkaError) as raised:
            question()
        assert raised.value.code == ErrorCode.CORRUPT_MESSAGE


@given(data=st.data())
def test_every_read_is_a_run_of_whole_batches_from_the_asked_one(data, tmp_path_factory):
    from kaas.storage.log.files import OpenFiles

    path = tmp_path_factory.mktemp("segment") / "t" / "0"
    path.mkdir(parents=True)
    segment = Segment.new(OpenFiles(), str(path), 0, NOW)
    counts = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=20))
    fill(segment, *[batch(*["v"] * count) for count in counts])
    ends = [sum(counts[: i + 1]) for i in range(len(counts))]
    offset = data.draw(st.integers(0, ends[-1] - 1))
    end = data.draw(st.sampled_from([e for e in ends if e > offset]))
    room = data.draw(st.integers(0, 600))
    chunk = segment.read(offset, room, end, min_one=True)
    offsets = [o for o, _ in seen(chunk.buffers)]
    first = max([e for e in [0, *ends] if e <= offset])
    assert offsets == list(range(first, chunk.next_offset))
    assert offset < chunk.next_offset <= end and chunk.next_offset in ends
    one = min(e for e in ends if e > offset)
    assert chunk.size <= room or chunk.next_offset == one
