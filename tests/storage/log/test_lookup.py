import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.storage.log.files import OpenFiles
from kaas.storage.log.lookup import first_at_or_after, newest
from kaas.storage.log.segment import Segment
from tests.storage.log.making import NOW, batch
from tests.storage.log.test_segment import fill


def segments_of(folder, *rows: list[list[int]]) -> list[Segment]:
    """One segment for each row; a row is a list of batches, a batch the timestamps of its records."""
    open_files, base, made = OpenFiles(), 0, []
    for row in rows:
        segment = Segment.new(open_files, str(folder), base, NOW)
        fill(segment, *[batch(*["v"] * len(times), at=times) for times in row])
        base += sum(map(len, row))
        made.append(segment)
    return made


def found(one):
    return None if one is None else (one.offset, one.timestamp)


@pytest.fixture
def log(folder):
    return segments_of(folder, [[1000, 3000, 2000], [2500, 3000]], [[500], [4000, 3500]])


@pytest.mark.parametrize(
    ("time", "record"),
    [(0, (0, 1000)), (1001, (1, 3000)), (2500, (1, 3000)), (3000, (1, 3000)), (3001, (6, 4000)), (4001, None)],
)
def test_the_first_record_at_or_after_a_time_whatever_their_order(log, time, record):
    assert found(first_at_or_after(log, time, 0, 8)) == record


def test_nothing_before_the_start_or_from_the_end_on_is_found(log):
    assert found(first_at_or_after(log, 0, 2, 8)) == (2, 2000)
    assert found(first_at_or_after(log, 3000, 2, 8)) == (4, 3000)
    assert found(first_at_or_after(log, 3001, 0, 6)) is None


def test_the_newest_record_is_the_first_with_the_greatest_time(folder):
    log = segments_of(folder, [[10, 40], [40]], [[40, 30]])
    assert found(newest(log, 0, 5)) == (1, 40)
    assert found(newest(log, 2, 5)) == (2, 40)
    assert found(newest(log, 4, 5)) == (4, 30)


def test_the_greatest_time_may_lie_before_the_start_or_behind_the_end(log):
    assert found(newest(log, 0, 8)) == (6, 4000)
    assert found(newest(log, 7, 8)) == (7, 3500)
    assert found(newest(log, 2, 6)) == (4, 3000)


@pytest.mark.parametrize("rows", [[], [[]], [[[-1]]]])
def test_a_log_without_records_or_times_has_no_newest(folder, rows):
    log = segments_of(folder, *rows)
    assert newest(log, 0, 1) is None and first_at_or_after(log, 0, 0, 1) is None


times = st.lists(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=3), max_size=8), min_size=1, max_size=3)


@given(times, st.integers(0, 31), st.data())
def test_an_indexed_search_finds_what_a_plain_one_finds(tmp_path_factory, rows, wanted, data):
    folder = tmp_path_factory.mktemp("lookup") / "t" / "0"
    folder.mkdir(parents=True)
    log = segments_of(folder, *rows)
    flat = list(enumerate(time for row in rows for one in row for time in one))
    start = data.draw(st.integers(0, len(flat)))
    end = sum(len(one) for row in rows for one in row)
    visible = [(offset, time) for offset, time in flat if offset >= start]
    assert found(first_at_or_after(log, wanted, start, end)) == next(
        ((offset, time) for offset, time in visible if time >= wanted), None
    )
    greatest = max((time for _, time in visible), default=None)
    assert found(newest(log, start, end)) == next(
        ((offset, time) for offset, time in visible if time == greatest), None
    )
