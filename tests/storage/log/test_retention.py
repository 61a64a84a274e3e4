import pytest

from kaas.storage.log.retention import expired_count
from kaas.storage.log.segment import Segment
from kaas.storage.log.view import LogView
from tests.storage.log.making import NOW, batch, config
from tests.storage.log.test_segment import fill

FOREVER = {"retention_ms": -1}


@pytest.fixture
def segments(open_files, folder):
    """Three segments of one batch each, at offsets 0, 2 and 4; newest records of NOW-100, NOW-50, NOW-60."""
    made = []
    for base, age in ((0, 100), (2, 50), (4, 60)):
        segment = Segment.new(open_files, str(folder), base, NOW)
        fill(segment, batch("a", "b", at=NOW - age))
        made.append(segment)
    return made


def count(segments, start=0, end=6, now=NOW, **settings) -> int:
    view = LogView(segments=tuple(segments), log_start_offset=start, last_stable_offset=end, high_watermark=end)
    return expired_count(view, config(**settings), now)


@pytest.mark.parametrize(("retention_ms", "gone"), [(-1, 0), (100, 0), (99, 1), (60, 1), (59, 1), (49, 3)])
def test_segments_go_by_the_age_of_their_newest_record_oldest_first(segments, retention_ms, gone):
    assert count(segments, retention_ms=retention_ms) == gone


def test_a_segment_without_times_goes_by_its_last_write(open_files, folder):
    segment = Segment.new(open_files, str(folder), 0, NOW)
    fill(segment, batch("a", at=-1))
    assert (count([segment], now=NOW + 10, retention_ms=10), count([segment], now=NOW + 11, retention_ms=10)) == (0, 1)


def test_segments_go_while_the_rest_is_as_large_as_the_limit(segments):
    size = segments[0].size
    limits = {3 * size: 0, 3 * size - 1: 0, 2 * size: 1, 2 * size - 1: 1, size: 2, 1: 2, 0: 3}
    assert {limit: count(segments, retention_bytes=limit, **FOREVER) for limit in limits} == limits


@pytest.mark.parametrize(("start", "gone"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (5, 2), (6, 3)])
def test_segments_before_the_log_start_go_whatever_the_policy(segments, start, gone):
    assert count(segments, start=start, cleanup_policy="compact", **FOREVER) == gone


def test_a_log_that_is_only_compacted_keeps_its_segments(segments):
    assert count(segments, cleanup_policy="compact", retention_ms=0, retention_bytes=0) == 0
    assert count(segments, cleanup_policy="compact,delete", retention_ms=0) == 3


def test_an_empty_segment_stays(segments, open_files, folder):
    empty = Segment.new(open_files, str(folder), 6, NOW)
    assert count([*segments, empty], start=6, retention_ms=0, retention_bytes=0) == 3
    assert count([empty], start=6, retention_ms=0, retention_bytes=0) == 0
    assert count([], retention_ms=0, retention_bytes=0) == 0
