"""groups.lag.judging."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.index import GroupIndex
from groups.lag.judging import ROWS_PER_PORTION, flow_of, judge, judge_at_once
from groups.lag.window import SEVERITY, TICK_MS, TICKS, status_of
from groups.testing.feed import member_view, offset_view, snapshot
from kaas.feed.types import TopicView

START = 1_000_000


class World:
    """An index whose clock and commits a test holds in its hands: one topic `orders`, one group `shop`."""

    def __init__(self):
        self.index = GroupIndex()
        self.now = START
        self.version = 0

    def ends(self, *ends):
        rows = [(0, end, end) for end in ends]
        view = TopicView(topic="orders", topic_id=None, at=self.now, partitions=rows)
        self.index.topic("orders", msgspec.json.encode(view))

    def commit(self, *offsets, members=1, at=None):
        self.version += 1
        held = {
            ("orders", p): offset_view(offset, committed_at=self.now if at is None else at)
            for p, offset in enumerate(offsets)
        }
        there = [member_view(f"m-{n}", {"orders": [0]}) for n in range(members)]
        group = snapshot("shop", members=there, offsets=held, version=self.version, at=self.now)
        return self.index.put(msgspec.json.encode(group))

    def tick(self):
        judge_at_once(self.index, self.now)
        self.now += TICK_MS

    @property
    def row(self):
        return self.index.rows["shop"]


@pytest.fixture
def world():
    return World()


def test_until_the_window_is_full_the_moment_stands(world):
    world.ends(10)
    world.commit(4)
    for _ in range(TICKS - 1):
        world.tick()
        assert world.row.verdict is None and world.row.lag_status() == "lagging"
    world.tick()
    assert world.row.verdict is not None and world.row.lag_status() == "stalled"


@pytest.mark.parametrize(
    ("read", "came", "status"),
    [(5, 5, "ok"), (6, 5, "ok"), (5, 9, "warn"), (0, 5, "stalled"), (0, 0, "stalled")],
)
def test_a_group_is_judged_by_its_window(world, read, came, status):
    for turn in range(TICKS):
        world.ends(1_000 + came * turn)
        world.commit(100 + read * turn)
        world.tick()
    assert world.row.lag_status() == status
    if status != "ok":
        assert (world.row.verdict.topic, world.row.verdict.partition) == ("orders", 0)


def test_one_stuck_partition_is_seen_among_many(world):
    for turn in range(TICKS):
        world.ends(*[1_000 + turn] * 5)
        world.commit(500 + turn, 500 + turn, 300, 500 + turn, 500 + turn)
        world.tick()
    verdict = world.row.verdict
    assert (world.row.lag_status(), verdict.partition, verdict.others) == ("stalled", 2, 0)


def test_a_group_whose_commits_ended_is_stopped(world):
    world.ends(1_000)
    world.commit(100)
    for _ in range(TICKS + 1):
        world.tick()
    assert world.row.lag_status() == "stopped"
    assert world.row.verdict.text == "Nothing was committed for 2 min while 900 records wait."


def test_an_offset_that_went_back_between_two_ticks_is_seen(world):
    for turn in range(TICKS):
        world.ends(1_000)
        world.commit(100 + 10 * turn)
        if turn == TICKS - 1:
            world.commit(20)
            world.commit(500)
        world.tick()
    assert world.row.lag_status() == "rewind"
    assert world.row.verdict.text == "The offset went back from 160 to 20."


def test_a_verdict_stays_until_the_next_tick_and_never_hides_the_moment(world):
    for turn in range(TICKS):
        world.ends(1_000 + 9 * turn)
        world.commit(100 + turn)
        world.tick()
    assert world.row.lag_status() == "warn"
    world.commit(300)
    assert world.row.lag_status() == "warn"
    world.commit(1_000 + 9 * (TICKS - 1))
    assert world.row.lag_status() == "ok"
    world.commit(2_000)
    assert world.row.lag_status() == "out_of_range"
    world.commit(300, members=0)
    assert world.row.verdict is None and world.row.lag_status() == "stopped"


def test_a_group_without_members_has_no_window(world):
    world.ends(10)
    world.commit(4, members=0)
    for _ in range(TICKS + 1):
        world.tick()
    assert world.row.verdict is None and world.row.lag_status() == "stopped"
    assert flow_of(world.index, world.row, world.now) is None


def test_a_partition_that_is_new_waits_for_its_own_window(world):
    for turn in range(TICKS):
        world.ends(1_000 + turn, 50)
        world.commit(*([100 + turn] if turn < 3 else [100 + turn, 0]))
        world.tick()
    assert world.row.lag_status() == "ok"


def test_records_in_and_out_are_counted(world):
    for turn in range(TICKS):
        world.ends(1_000 + 12 * turn, 1_000)
        world.commit(100 + 6 * turn, 1_000)
        assert flow_of(world.index, world.row, world.now) is None
        world.tick()
    flow = flow_of(world.index, world.row, world.now - TICK_MS)
    assert (flow.produced, flow.consumed) == (12 * (TICKS - 1), 6 * (TICKS - 1))
    assert flow.produced_per_s == pytest.approx(0.6) and flow.consumed_per_s == pytest.approx(0.3)


def test_it_is_done_in_portions_and_what_goes_meanwhile_does_no_harm(world):
    for number in range(2 * ROWS_PER_PORTION):
        group = snapshot(f"g{number}", members=[member_view("m-1")])
        world.index.put(msgspec.json.encode(group))
    portions = judge(world.index, world.now)
    next(portions)
    world.index.drop(f"g{2 * ROWS_PER_PORTION - 1}")
    assert len(list(portions)) == 1


MOVES = st.lists(
    st.tuples(
        st.lists(st.integers(-3, 4), min_size=3, max_size=3),
        st.lists(st.integers(0, 4), min_size=3, max_size=3),
        st.booleans(),
    ),
    min_size=TICKS,
    max_size=TICKS,
)


@given(MOVES)
def test_what_is_decided_at_once_is_what_the_rules_decide(moves):
    """The same window, judged partition by partition from its plain definition."""
    world = World()
    offsets, ends, committed_at = [10, 10, 10], [12, 12, 12], START
    told: list[list[tuple[int, int]]] = []
    went_back = set()
    for read, came, commits in moves:
        ends = [end + by for end, by in zip(ends, came, strict=True)]
        if commits or not told:
            wanted = [min(end, max(0, offset + by)) for offset, end, by in zip(offsets, ends, read, strict=True)]
            went_back |= {p for p in range(3) if told and wanted[p] < offsets[p]}
            offsets, committed_at = wanted, world.now
        world.ends(*ends)
        world.commit(*offsets, at=committed_at)
        told.append(list(zip(offsets, ends, strict=True)))
        world.tick()
    statuses = []
    for p in range(3):
        lags = [places[p][1] - places[p][0] for places in told]
        read = told[-1][p][0] - told[0][p][0]
        statuses.append(status_of(lags, read=read, has_commit=True, went_back=p in went_back))
    if world.row.total_lag():
        assert world.row.lag_status() == max(statuses, key=SEVERITY.index)
    else:
        assert world.row.lag_status() == "ok"
