from dataclasses import dataclass, field

import pytest

from kaas.broker.purgatory import ALIVE_CHECK_S, Purgatory
from kaas.storage.log.config import DEFAULT_CONFIG
from kaas.storage.log.partition import PartitionLog


class Timer:
    def __init__(self, at, call) -> None:
        self.at, self.call, self.cancelled = at, call, False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """The two things that a purgatory needs of an event loop, with a clock that the test holds."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[Timer] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay, function, *arguments) -> Timer:
        timer = Timer(self.now + delay, lambda: function(*arguments))
        self.timers.append(timer)
        return timer

    def advance(self, seconds: float) -> None:
        self.now += seconds
        due = [one for one in self.timers if one.at <= self.now]
        self.timers = [one for one in self.timers if one.at > self.now]
        for timer in due:
            if not timer.cancelled:
                timer.call()


@dataclass(eq=False)
class Waiting:
    """A fetch: how many bytes it lacks each time it is asked, and whether its client is there."""

    lacks: list[int]
    alive: bool = True
    asked: list[bool] = field(default_factory=list)

    def attempt(self, last_chance: bool) -> int:
        self.asked.append(last_chance)
        return self.lacks.pop(0) if self.lacks else 0


@pytest.fixture
def loop():
    return Loop()


@pytest.fixture
def purgatory(loop):
    return Purgatory(loop)


LOGS = [PartitionLog("unused", i, DEFAULT_CONFIG, None) for i in range(3)]


def park(purgatory, *logs, lacks=(), first=1, wait_s=10.0) -> Waiting:
    one = Waiting(list(lacks))
    purgatory.park(logs, first, wait_s, one.attempt, lambda: one.alive)
    return one


def test_an_append_wakes_the_fetches_of_its_log(purgatory):
    one, two, both = park(purgatory, LOGS[0]), park(purgatory, LOGS[1]), park(purgatory, LOGS[0], LOGS[1])
    purgatory.wake(LOGS[0], 1)
    assert (one.asked, two.asked, both.asked) == ([False], [], [False])
    assert len(purgatory) == 1
    purgatory.wake(LOGS[1], 1)
    assert (one.asked, two.asked, both.asked) == ([False], [False], [False])
    assert len(purgatory) == 0


def test_a_fetch_is_asked_when_as_much_came_as_it_lacks(purgatory):
    one = park(purgatory, LOGS[0], LOGS[1], first=100, lacks=[40])
    purgatory.wake(LOGS[0], 60)
    assert one.asked == []
    purgatory.wake(LOGS[1], 40)
    assert one.asked == [False] and len(purgatory) == 1
    purgatory.wake(LOGS[0], 39)
    assert one.asked == [False]
    purgatory.wake(LOGS[0], 1)
    assert one.asked == [False, False] and len(purgatory) == 0


def test_a_fetch_has_a_last_chance_when_its_time_is_up(purgatory, loop):
    one = park(purgatory, LOGS[0], wait_s=5)
    loop.advance(4.9)
    assert one.asked == []
    loop.advance(0.1)
    assert one.asked == [True] and len(purgatory) == 0
    purgatory.wake(LOGS[0], 1)
    assert one.asked == [True]


def test_a_fetch_that_was_answered_has_no_timer_left(purgatory, loop):
    one = park(purgatory, LOGS[0])
    purgatory.wake(LOGS[0], 1)
    loop.advance(100)
    assert one.asked == [False]


def test_the_last_chance_is_the_last_whatever_is_lacking(purgatory, loop):
    one = park(purgatory, LOGS[0], wait_s=5, lacks=[7])
    loop.advance(5)
    assert one.asked == [True] and len(purgatory) == 0


def test_a_log_that_changed_otherwise_wakes_all(purgatory):
    one = park(purgatory, LOGS[0], first=10**6)
    purgatory.wake_all(LOGS[1])
    assert one.asked == []
    purgatory.wake_all(LOGS[0])
    assert one.asked == [False]


def test_a_fetch_whose_client_has_gone_is_dropped_when_it_is_met(purgatory):
    one = park(purgatory, LOGS[0])
    one.alive = False
    purgatory.wake(LOGS[0], 1)
    assert one.asked == [] and len(purgatory) == 0


def test_a_fetch_that_waits_for_days_is_dropped_soon_after_its_client(purgatory, loop):
    one = park(purgatory, LOGS[0], wait_s=10**6)
    loop.advance(ALIVE_CHECK_S)
    assert len(purgatory) == 1
    one.alive = False
    loop.advance(ALIVE_CHECK_S)
    assert one.asked == [] and len(purgatory) == 0


def test_a_fetch_may_park_another_one_while_it_is_asked(purgatory):
    later: list[Waiting] = []

    def attempt(last_chance: bool) -> int:
        later.append(park(purgatory, LOGS[0]))
        return 0

    purgatory.park([LOGS[0]], 1, 10, attempt, lambda: True)
    purgatory.wake(LOGS[0], 1)
    assert len(later) == 1 and later[0].asked == [] and len(purgatory) == 1


def test_a_fetch_without_logs_waits_for_its_time(purgatory, loop):
    one = park(purgatory, wait_s=1)
    loop.advance(1)
    assert one.asked == [True]


def test_nothing_waits_after_a_stop(purgatory, loop):
    one = park(purgatory, LOGS[0], LOGS[1])
    purgatory.stop()
    loop.advance(100)
    assert one.asked == [] and len(purgatory) == 0
