import pytest

from kaas.storage.log.cleanable import CleanableRange, cleanable_range, is_due
from kaas.storage.log.segment import Segment
from kaas.storage.log.view import LogView
from tests.storage.log.making import NOW, batch, config
from tests.storage.log.test_segment import fill


@pytest.fixture
def segments(open_files, folder):
    """Four segments of two records each, at offsets 0, 2, 4 and 6, the last of them being written; ages 40, 30, 20,
    10.
    """
    made = []
    for base, age in ((0, 40), (2, 30), (4, 20), (6, 10)):
        segment = Segment.new(open_files, str(folder), base, NOW)
        fill(segment, batch("a", "b", at=NOW - age, keys=["k", "l"]))
        made.append(segment)
    return tuple(made)


def found(segments, cleaned=0, stable=8, **settings) -> CleanableRange:
    view = LogView(segments=segments, last_stable_offset=stable, high_watermark=8)
    return cleanable_range(view, cleaned, config(cleanup_policy="compact", **settings), NOW)


def bases(segments) -> list[int]:
    return [one.base_offset for one in segments]


@pytest.mark.parametrize(
    ("cleaned", "stable", "lag", "expected"),
    [(0, 8, 0, [0, 2, 4]), (0, 5, 0, [0, 2]), (0, 1, 0, []), (0, 8, 30, [0, 2]), (0, 8, 31, [0]), (4, 8, 50, [0, 2])],
    ids=["all full ones", "an open transaction", "one from the start", "younger", "much younger", "clean before"],
)
def test_full_settled_and_old_enough_segments_are_cleanable(segments, cleaned, stable, lag, expected):
    one = found(segments, cleaned, stable, min_compaction_lag_ms=lag)
    assert bases(one.segments) == expected
    assert one.end_offset == (expected[-1] + 2 if expected else 0)


@pytest.mark.parametrize(
    ("cleaned", "dirty", "ratio"), [(0, [0, 2, 4], 1), (2, [2, 4], 2 / 3), (3, [2, 4], 2 / 3), (6, [], 0), (9, [], 0)]
)
def test_what_was_never_compacted_is_dirty(segments, cleaned, dirty, ratio):
    one = found(segments, cleaned)
    assert bases(one.dirty_segments) == dirty and one.dirty_ratio == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("cleaned", "settings", "due"),
    [
        (0, {}, True),
        (2, {}, True),
        (4, {}, False),
        (4, {"min_cleanable_dirty_ratio": 0.3}, True),
        (4, {"max_compaction_lag_ms": 19}, True),
        (4, {"max_compaction_lag_ms": 20}, False),
        (6, {"max_compaction_lag_ms": 1, "min_cleanable_dirty_ratio": 0}, False),
    ],
)
def test_a_pass_is_due_by_share_or_by_age(segments, cleaned, settings, due):
    settings = config(cleanup_policy="compact", **settings)
    assert is_due(found(segments, cleaned), settings, NOW) is due


def test_a_log_without_full_segments_has_nothing_to_compact(segments):
    assert not is_due(found(segments[:1]), config(), NOW) and not is_due(found(()), config(), NOW)
