"""groups.lag.sampling and groups.lag.series."""

from __future__ import annotations

import random

import pytest
import structlog
from django.db import DatabaseError

from groups.feeds import feed_of
from groups.fields import id_digest
from groups.lag import sampling
from groups.lag.samples import Step, unpacked
from groups.lag.sampling import forget_samples, lag_sample, lag_sweep
from groups.lag.series import Scope, behind_of, points_of, step_for
from groups.models import LagChunk, LagClock, LagTick

pytestmark = pytest.mark.django_db

SECOND, MINUTE = 1_000, 60_000
FINE, COARSE = Step(10 * SECOND, 10 * MINUTE), Step(MINUTE, 60 * MINUTE)
START = 1_800_000_000_000
WHOLE = Scope()


class Clock:
    """The time of sampling; a world whose group and topic change with it."""

    def __init__(self, world):
        self.world = world
        self.now = START

    def sample(self, committed=None, log_end=None, passes=10 * SECOND, group_id="shop"):
        """Sets the group's offset and the topic's end, takes a sample, lets time pass; how many chunks were written."""
        if log_end is not None:
            self.world.topic("orders", log_end)
        if committed is not None:
            self.world.group(group_id, {("orders", 0): committed})
        if committed is not None or log_end is not None:
            self.world.read()
        written = lag_sample("local")
        self.now += passes
        return written

    def points(self, scope=WHOLE, step=FINE, begin=START, points=1_000, group_id="shop"):
        found = points_of("local", group_id, scope, step, begin, self.now, points)
        return [(point.at - START, point.lag) for point in found]


@pytest.fixture
def clock(world, settings, monkeypatch):
    settings.KAAS_LAG_STEPS = (FINE, COARSE)
    clock = Clock(world)
    monkeypatch.setattr(sampling, "now_ms", lambda: clock.now)
    forget_samples()
    yield clock
    forget_samples()


def kept(kind="group", name="shop"):
    """What the database holds of one subject: step in seconds to the moments of its samples in seconds."""
    chunks = LagChunk.objects.filter(kind=kind, digest=id_digest(name)).order_by("begins_at")
    found = {}
    for chunk in chunks:
        moments = [(sample.at - START) // SECOND for sample in unpacked(chunk.samples)]
        found.setdefault(chunk.step_ms // SECOND, []).extend(moments)
    return found


def test_it_works(clock):
    clock.sample(committed=4, log_end=10)
    clock.sample(committed=6, log_end=10)
    clock.sample(committed=6, log_end=30)
    assert clock.points() == [(0, 6), (10_000, 4), (20_000, 24)]


def test_what_stands_still_is_written_once_and_shown_at_every_moment(clock):
    assert clock.sample(committed=4, log_end=10) == 2
    assert [clock.sample() for _ in range(8)] == [0] * 8
    assert kept() == {60: [0]} and LagChunk.objects.count() == 2
    assert clock.points() == [(10_000 * turn, 6) for turn in range(9)]


def test_a_sample_is_stored_once_in_the_coarsest_step_that_is_due(clock):
    for turn in range(9):
        clock.sample(committed=turn, log_end=10)
    assert kept() == {60: [0, 60], 10: [10, 20, 30, 40, 50, 70, 80]}
    assert clock.points(step=COARSE) == [(0, 10), (60_000, 4)]
    assert clock.points() == [(10_000 * turn, 10 - turn) for turn in range(9)]


def test_a_change_for_a_moment_is_undone_in_the_fine_step_alone(clock):
    clock.sample(committed=4, log_end=10)
    clock.sample(committed=7)
    clock.now = START + MINUTE
    clock.sample(committed=4)
    assert kept() == {60: [0], 10: [10, 60]}
    assert clock.points() == [(0, 6), (10_000, 3), (60_000, 6)]


def test_a_moment_is_sampled_once_whoever_tries(clock):
    clock.sample(committed=4, log_end=10, passes=0)
    assert clock.sample(committed=5) == 0
    forget_samples()
    clock.now -= 5 * SECOND
    assert clock.sample() == 0
    assert LagTick.objects.count() == 1


def test_a_new_process_goes_on_where_the_last_one_ended(clock):
    clock.sample(committed=4, log_end=10)
    clock.sample(committed=5)
    forget_samples()
    assert clock.sample() == 0
    assert clock.sample(committed=6) == 1
    assert clock.points() == [(0, 6), (10_000, 5), (20_000, 5), (30_000, 4)]


def test_two_workers_in_turns_write_the_same_as_one(clock):
    books = {}
    for turn in range(8):
        sampling._books.clear()
        sampling._books.update(books.get(turn % 2, {}))
        clock.sample(committed=[4, 5, 4, 4, 9, 9, 4, 4][turn], log_end=10)
        books[turn % 2] = dict(sampling._books)
    assert [lag for _, lag in clock.points()] == [6, 5, 6, 6, 1, 1, 6, 6]


@pytest.mark.parametrize("seed", range(8))
def test_whoever_samples_and_whenever_it_restarts_the_points_are_true(clock, seed):
    """Two workers, restarts, groups that come and go: every point shows what was there at its moment."""
    dice = random.Random(seed)
    books: dict[int, dict] = {0: {}, 1: {}}
    expected, committed, log_end = [], None, 0
    for _ in range(40):
        worker = dice.randrange(2)
        sampling._books.clear()
        sampling._books.update(books[worker] if dice.random() < 0.8 else {})
        log_end += dice.choice([0, 0, 0, 3])
        clock.world.topic("orders", log_end)
        if dice.random() < 0.4:
            committed = dice.choice([None, 1, 2, 3])
            clock.world.feed.gone("shop") if committed is None else clock.world.group(
                "shop", {("orders", 0): committed}
            )
        clock.world.read()
        at = clock.now - START
        clock.sample(passes=dice.choice([10, 10, 10, 20]) * SECOND)
        books[worker] = dict(sampling._books)
        expected.append((at, log_end - committed if committed is not None and committed <= log_end else None))
    assert clock.points() == expected
    minutes = {at // MINUTE: (at, lag) for at, lag in reversed(expected)}
    assert clock.points(step=COARSE) == sorted(minutes.values())


def test_a_worker_that_dies_halfway_leaves_a_moment_of_which_nothing_is_claimed(clock, monkeypatch):
    clock.sample(committed=4, log_end=10)
    with monkeypatch.context() as dying:
        dying.setattr(LagTick.objects, "create", lambda **_: (_ for _ in ()).throw(DatabaseError("died")))
        with pytest.raises(DatabaseError):
            clock.sample(committed=6)
    clock.now += 10 * SECOND
    clock.sample(committed=7)
    assert clock.points() == [(0, 6), (20_000, 3)]


def test_a_pause_leaves_a_hole(clock):
    clock.sample(committed=4, log_end=10)
    clock.now += 5 * MINUTE
    clock.sample()
    assert clock.points() == [(0, 6), (310_000, 6)]


def test_a_group_that_is_gone_has_no_lag_any_more_and_a_new_one_begins_anew(clock):
    clock.sample(committed=4, log_end=10)
    clock.world.feed.gone("shop")
    clock.world.read()
    clock.sample()
    clock.sample(committed=9)
    assert clock.points() == [(0, 6), (10_000, None), (20_000, 1)]


def test_before_the_first_sample_nothing_is_known(clock):
    clock.sample(committed=1, log_end=10, group_id="other")
    clock.sample(committed=4)
    assert clock.points() == [(0, None), (10_000, 6)]


def test_topics_that_nobody_reads_are_not_sampled(clock):
    clock.world.topic("idle", 10)
    clock.sample(committed=4, log_end=10)
    assert not LagChunk.objects.filter(kind="topic", digest=id_digest("idle")).exists()


def test_an_unread_feed_gives_no_sample(clock, monkeypatch):
    assert clock.sample() == 0 and not LagTick.objects.exists()
    clock.world.read()
    monkeypatch.setattr(feed_of("local").reader, "is_cut_off", lambda: True)
    assert clock.sample() == 0 and not LagClock.objects.exists()


def test_a_part_of_a_group_is_shown_alone(clock):
    clock.world.topic("orders", 10, 20)
    clock.world.topic("bills", 5)
    clock.world.group("shop", {("orders", 0): 4, ("orders", 1): 4, ("bills", 0): 9})
    clock.world.read()
    clock.sample()
    assert clock.points() == [(0, 22)]
    assert clock.points(Scope(topic="orders")) == [(0, 22)]
    assert clock.points(Scope(topic="orders", partition=1)) == [(0, 16)]
    assert clock.points(Scope(topic="bills")) == [(0, None)]
    assert clock.points(Scope(topic="unknown")) == [(0, None)]


def test_long_times_have_one_point_per_stretch_the_last_one_in_it(clock):
    for turn in range(12):
        clock.sample(committed=turn, log_end=20)
    clock.now -= 1
    assert clock.points(points=4) == [(20_000, 18), (50_000, 15), (80_000, 12), (110_000, 9)]


def test_the_step_reaches_back_and_is_no_finer_than_needed():
    now = START
    assert step_for(now, now - 5 * MINUTE, now, 30) == FINE
    assert step_for(now, now - 5 * MINUTE, now, 300) == FINE
    assert step_for(now, now - 5 * MINUTE, now, 5) == COARSE
    assert step_for(now, now - 30 * MINUTE, now, 1_000) == COARSE
    assert step_for(now, now - 24 * 60 * MINUTE, now, 1_000) == COARSE


@pytest.fixture(autouse=True)
def steps(settings):
    settings.KAAS_LAG_STEPS = (FINE, COARSE)


def test_age_comes_from_the_finest_samples_that_reach_back(clock):
    for turn in range(31):
        clock.sample(committed=0, log_end=100 * turn)
    now = clock.now
    asked = {("orders", 0): (2_950, 3_100), ("none", 0): (1, 2)}
    found = behind_of("local", asked, now)
    assert found["orders", 0].ms == pytest.approx(15_000, abs=5_001)
    assert found["orders", 0].resolution_ms == 10_000 and found["none", 0] is None
    later = now + 20 * MINUTE
    old = behind_of("local", {("orders", 0): (250, 3_100)}, later)["orders", 0]
    assert old.resolution_ms == MINUTE and old.ms == pytest.approx(later - START - 25_000, abs=1)
    assert behind_of("local", {("orders", 0): (3_100, 3_100)}, now)["orders", 0].ms == 0


def test_what_is_older_than_the_samples_is_at_least_so_old(clock):
    """A rewound group showed years, or no more than the window.

    https://github.com/seglo/kafka-lag-exporter/issues/496
    https://github.com/themoah/klag/issues/30
    """
    clock.sample(committed=0, log_end=500)
    clock.sample(log_end=600)
    found = behind_of("local", {("orders", 0): (100, 600)}, clock.now)["orders", 0]
    assert found.at_least and found.ms == 20_000


def test_samples_whose_time_is_over_go(clock):
    for turn in range(7):
        clock.sample(committed=turn, log_end=10)
    clock.now += 22 * MINUTE
    assert lag_sweep() == 6
    assert kept() == {60: [0, 60]} and kept("topic", "orders") == {60: [0]}
    assert LagTick.objects.count() == 2
    clock.now += 130 * MINUTE
    assert lag_sweep() > 0 and not LagChunk.objects.exists() and not LagTick.objects.exists()


def test_what_stands_still_is_written_anew_before_it_is_too_old_to_be_found(clock):
    for _ in range(140):
        clock.sample(committed=4, log_end=10, passes=0) if clock.now == START else clock.sample(passes=0)
        clock.now += MINUTE
        lag_sweep()
    newest = points_of("local", "shop", WHOLE, COARSE, clock.now - 10 * MINUTE, clock.now, 100)
    assert {point.lag for point in newest} == {6}


def test_rows_are_bounded_and_it_is_said(clock, settings):
    settings.KAAS_LAG_ROWS = 3
    for turn in range(7):
        clock.sample(committed=turn, log_end=10 + turn)
    with structlog.testing.capture_logs() as logs:
        assert lag_sweep() == 1
    assert [(line["event"], line["surplus"]) for line in logs] == [("lag_history_shortened", 1)]
    assert LagChunk.objects.count() == 3 and LagChunk.objects.filter(step_ms=COARSE.step_ms).count() == 2


def test_many_subjects_are_written_in_batches(clock, monkeypatch):
    monkeypatch.setattr(sampling, "SUBJECTS_PER_BATCH", 2)
    for number in range(5):
        clock.world.group(f"g{number}", {("orders", 0): number})
    assert clock.sample(log_end=10) == 6
    assert clock.points(group_id="g3") == [(0, 7)]
