from queue import SimpleQueue
from threading import Event

import pytest

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.admission import Append, Appended
from kaas.storage.log.appender import Appender, wall_clock_ms
from kaas.storage.log.checkpoint import CHECKPOINT
from kaas.storage.log.config import DEFAULT_CONFIG
from kaas.storage.log.partition import PartitionLog
from tests.storage.log.making import NOW, batch, config, disk_takes

SIZE = len(batch("x", at=NOW))


class Rounds:
    """Collects what is handed back, round by round."""

    def __init__(self) -> None:
        self.queue: SimpleQueue = SimpleQueue()
        self.rounds: list[list] = []

    def wait_for(self, count: int) -> list:
        """The finished work of the next rounds, `count` pieces of it."""
        finished: list = []
        while len(finished) < count:
            finished += self.queue.get(timeout=30)
        return finished


@pytest.fixture
def back():
    return Rounds()


@pytest.fixture
def appender(back):
    one = Appender(back.queue.put, clock=lambda: NOW)
    one.start()
    yield one
    one.stop()


@pytest.fixture
def logs(tmp_path, resources):
    (tmp_path / "topic").mkdir()
    return [PartitionLog(str(tmp_path / "topic"), i, DEFAULT_CONFIG, resources) for i in range(3)]


def request(token, *values: str) -> Append:
    return Append(data=batch(*(values or ("x",))), token=token)


def held(appender: Appender) -> Event:
    """Work that keeps the thread busy until the event is set, so that what comes meanwhile waits."""
    started, release = Event(), Event()
    appender.call(lambda: started.set() or release.wait(30), token="held")
    assert started.wait(30)
    return release


def test_each_append_comes_back_with_its_token_and_its_place(appender, back, logs):
    for i in range(6):
        appender.append(logs[i % 2], request(i, "a", "b"))
    finished = {one.token: one.result for one in back.wait_for(6)}
    assert finished == {i: Appended(base_offset=2 * (i // 2)) for i in range(6)}


def test_what_waits_is_done_in_one_round_with_one_write_per_log(appender, back, logs, monkeypatch):
    calls = []
    real = PartitionLog.append
    monkeypatch.setattr(PartitionLog, "append", lambda log, reqs, now: calls.append(len(reqs)) or real(log, reqs, now))
    release = held(appender)
    for i in range(9):
        appender.append(logs[i % 3], request(i))
    release.set()
    assert [one.token for one in back.queue.get(timeout=30)] == ["held"]
    assert len(back.queue.get(timeout=30)) == 9 and calls == [3, 3, 3]


def test_other_work_keeps_its_place_among_the_appends(appender, back, logs):
    release = held(appender)
    appender.append(logs[0], request("before"))
    appender.call(lambda: logs[0].view.high_watermark, token="between")
    appender.append(logs[0], request("after"))
    release.set()
    finished = {one.token: one.result for one in back.wait_for(4)}
    assert (finished["between"], finished["after"]) == (1, Appended(base_offset=1))


def test_an_error_is_the_result_of_the_work_that_met_it(appender, back, logs):
    def refuse():
        raise KafkaError(ErrorCode.POLICY_VIOLATION)

    appender.call(refuse, token=1)
    appender.call(lambda: 1 / 0, token=2)
    appender.append(logs[0], Append(data=b"", token=3))
    appender.append(logs[0], request(4))
    results = {one.token: one.result for one in back.wait_for(4)}
    assert [results[i].code for i in (1, 2, 3)] == [
        ErrorCode.POLICY_VIOLATION,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.INVALID_RECORD,
    ]
    assert results[4] == Appended(base_offset=0)


def test_a_fault_in_one_log_does_not_reach_the_others(appender, back, logs, monkeypatch):
    real = PartitionLog.append

    def faulty(log, requests, now):
        if log is logs[0]:
            raise RuntimeError("a fault of ours")
        return real(log, requests, now)

    monkeypatch.setattr(PartitionLog, "append", faulty)
    release = held(appender)
    for i, log in enumerate(logs):
        appender.append(log, request(i))
    release.set()
    results = {one.token: one.result for one in back.wait_for(4)}
    assert results[0].code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert results[1] == results[2] == Appended(base_offset=0)


def test_a_disk_that_refuses_is_known_until_it_takes_writes_again(appender, back, logs):
    with disk_takes(10):
        appender.append(logs[0], request(1))
        assert back.wait_for(1)[0].result.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert appender.last_storage_error.code == ErrorCode.KAFKA_STORAGE_ERROR
    appender.append(logs[0], Append(data=b"", token=2))
    back.wait_for(1)
    assert appender.last_storage_error is not None  # a bad batch says nothing of the disk
    appender.append(logs[0], request(3))
    back.wait_for(1)
    assert appender.last_storage_error is None


def test_full_segments_are_brought_onto_the_disk_and_checkpointed(back, logs, tmp_path):
    logs[0].config = config(segment_bytes=SIZE)
    appender = Appender(back.queue.put, clock=lambda: NOW)
    confirmed = Event()
    real = logs[0].confirm
    type(logs[0]).confirm, original = lambda log, rolled: (real(rolled), confirmed.set()), type(logs[0]).confirm
    try:
        appender.start()
        appender.append(logs[0], request(1))
        appender.append(logs[0], request(2))
        back.wait_for(2)
        assert confirmed.wait(30)
        appender.stop()
    finally:
        type(logs[0]).confirm = original
    assert (tmp_path / "topic" / "0" / CHECKPOINT).exists()
    assert back.queue.empty()  # nobody waits for the confirmation


def test_what_was_handed_in_before_the_stop_is_done(back, logs):
    appender = Appender(back.queue.put, clock=lambda: NOW)
    for i in range(100):
        appender.append(logs[i % 3], request(i))
    appender.start()
    appender.stop()
    assert len(back.wait_for(100)) == 100


def test_the_clock_is_the_wall_clock_in_milliseconds():
    import time

    assert abs(wall_clock_ms() - time.time() * 1000) < 5000
