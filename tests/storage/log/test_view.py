import pytest

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.aborted import AbortedTransaction
from kaas.storage.log.segment import Segment
from kaas.storage.log.view import LogView
from tests.storage.log.making import NOW, batch, seen
from tests.storage.log.test_segment import fill


def aborted(producer: int, first: int, last: int, stable: int) -> AbortedTransaction:
    return AbortedTransaction(producer_id=producer, first_offset=first, last_offset=last, last_stable_offset=stable)


@pytest.fixture
def view(open_files, folder):
    """Two segments: offsets 0-3 and, after a gap, 10-13; the log starts at 1."""
    segments = []
    for base in (0, 10):
        segment = Segment.new(open_files, str(folder), base, NOW)
        fill(segment, batch(f"{base}", f"{base + 1}"), batch(f"{base + 2}", f"{base + 3}"))
        segments.append(segment)
    return LogView(segments=tuple(segments), log_start_offset=1, last_stable_offset=12, high_watermark=14)


def offsets(view, offset, end=14, room=10**6):
    chunk = view.read(offset, room, end, min_one=True)
    return [o for o, _ in seen(chunk.buffers)], chunk.next_offset


def test_a_read_stays_in_the_segment_of_its_offset(view):
    assert offsets(view, 1) == ([0, 1, 2, 3], 4)
    assert offsets(view, 2) == ([2, 3], 4)
    assert offsets(view, 11) == ([10, 11, 12, 13], 14)


def test_a_read_in_a_gap_goes_on_with_the_next_segment(view):
    assert offsets(view, 4) == offsets(view, 9) == ([10, 11, 12, 13], 14)


def test_a_read_ends_at_the_last_stable_offset(view):
    assert offsets(view, 10, end=12) == ([10, 11], 12)
    assert (offsets(view, 12, end=12), offsets(view, 13, end=12)) == (([], 12), ([], 13))


def test_a_read_at_the_end_finds_nothing(view):
    assert offsets(view, 14) == ([], 14)
    assert offsets(LogView(), 0, end=0) == ([], 0)


@pytest.mark.parametrize("offset", [-1, 0, 15, 10**9])
def test_offsets_outside_of_the_log_are_out_of_range(view, offset):
    with pytest.raises(KafkaError) as raised:
        view.read(offset, 10**6, 14, min_one=True)
    assert raised.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_aborted_transactions_of_a_range_come_in_the_order_of_their_markers(view):
    first, second = view.segments
    first.aborted += [aborted(1, 0, 2, 1), aborted(2, 1, 3, 4)]
    second.aborted += [aborted(3, 4, 10, 11), aborted(4, 11, 13, 14)]
    assert [one.producer_id for one in view.aborted(0, 14)] == [1, 2, 3, 4]
    assert [one.producer_id for one in view.aborted(3, 14)] == [2, 3, 4]
    assert [one.producer_id for one in view.aborted(3, 11)] == [2, 3]
    assert [one.producer_id for one in view.aborted(12, 14)] == [4]
    assert view.aborted(0, 0) == []


def test_a_long_transaction_that_ends_later_is_found(view):
    first, second = view.segments
    first.aborted.append(aborted(1, 2, 3, 0))
    second.aborted.append(aborted(2, 0, 12, 13))
    assert [one.producer_id for one in view.aborted(1, 3)] == [1, 2]


def test_times_are_looked_up_inside_of_what_is_visible(view):
    assert view.first_at_or_after(0).offset == 1
    assert view.newest().offset == 1
    assert LogView().newest() is None
