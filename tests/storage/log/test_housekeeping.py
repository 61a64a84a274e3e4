import pytest

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log import compaction, housekeeping
from kaas.storage.log.housekeeping import Housekeeping
from kaas.storage.log.partition import PartitionLog
from tests.storage.log.making import NOW, batch, config, plain

SIZE = len(batch("x", at=NOW))


@pytest.fixture
def logs(tmp_path, resources):
    (tmp_path / "topic").mkdir()
    settings = config(segment_bytes=SIZE, retention_ms=10)
    return [PartitionLog(str(tmp_path / "topic"), i, settings, resources) for i in range(7)]


@pytest.fixture
def keeper(logs, monkeypatch):
    monkeypatch.setattr(housekeeping, "LOGS_PER_STEP", 3)
    one = Housekeeping(lambda: logs, retention_interval_ms=100, producer_expiration_ms=1000)
    rounds(one, NOW - 100)
    return one


def rounds(keeper, now=NOW) -> int:
    """The steps of one round."""
    steps = 1
    while keeper.step(now):
        steps += 1
    return steps


def test_a_round_tends_every_log_in_small_steps(keeper, logs):
    for log in logs:
        log.append([plain("x", at=NOW - 20), plain("x", at=NOW)], NOW)
    assert rounds(keeper) == 3
    assert [log.view.log_start_offset for log in logs] == [1] * 7
    assert rounds(keeper) == 3


def test_a_round_over_no_logs_is_over_at_once():
    assert Housekeeping(list, retention_interval_ms=100, producer_expiration_ms=1000).step(NOW) is False


def test_retention_is_due_in_some_rounds_only_and_not_in_the_first(logs):
    keeper = Housekeeping(lambda: logs[:1], retention_interval_ms=100, producer_expiration_ms=1000)
    starts = []
    for late in (0, 99, 100, 150, 199, 200):
        logs[0].append([plain("x", at=NOW - 20), plain("x", at=NOW + 1000)], NOW)
        rounds(keeper, NOW + late)
        starts.append(logs[0].view.log_start_offset)
    assert starts == [0, 0, 1, 1, 1, 1]


def test_idle_producers_expire(keeper, logs):
    logs[0].append([plain("x", producer=1)], NOW)
    rounds(keeper, NOW + 1000)
    assert logs[0].append([plain("x", producer=1, sequence=5)], NOW)[0].code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    rounds(keeper, NOW + 1100)
    assert not isinstance(logs[0].append([plain("x", producer=1, sequence=5)], NOW)[0], KafkaError)


def test_a_compaction_is_done_piece_by_piece_and_the_round_goes_on(keeper, logs, monkeypatch):
    monkeypatch.setattr(compaction, "PIECE_BYTES", 100)
    logs[1].config = config(cleanup_policy="compact", segment_bytes=3 * SIZE)
    logs[1].append([plain("x", keys=["k"]) for _ in range(10)], NOW)
    logs[6].append([plain("x", at=NOW - 20), plain("x", at=NOW)], NOW)
    before = sum(segment.size for segment in logs[1].view.segments)
    assert rounds(keeper) > 6
    assert sum(segment.size for segment in logs[1].view.segments) < before
    assert logs[6].view.log_start_offset == 1


def test_an_error_on_one_log_does_not_stop_the_others(keeper, logs, monkeypatch):
    real = PartitionLog.retain

    def retain(log, now_ms):
        if log in logs[:2]:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
        real(log, now_ms)

    monkeypatch.setattr(PartitionLog, "retain", retain)
    logs[2].append([plain("x", at=NOW - 20), plain("x", at=NOW)], NOW)
    logs[3].delete()
    rounds(keeper)
    assert logs[2].view.log_start_offset == 1


def test_a_compaction_that_fails_is_given_up_until_the_next_round(keeper, logs, monkeypatch):
    def failing():
        yield
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    monkeypatch.setattr(PartitionLog, "compaction", lambda log, now: failing() if log is logs[0] else None)
    assert [rounds(keeper), rounds(keeper)] == [5, 5]


def test_logs_are_flushed_when_their_time_is_over(keeper, logs, monkeypatch):
    flushed = []
    monkeypatch.setattr(PartitionLog, "flush_due", lambda log, now: flushed.append((log.partition, now)))
    keeper.flush(NOW)
    assert flushed == [(i, NOW) for i in range(7)]


def test_a_flush_that_fails_does_not_stop_the_others(keeper, logs, monkeypatch):
    flushed = []

    def flush(log, now_ms):
        if log is logs[0]:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
        flushed.append(log.partition)

    monkeypatch.setattr(PartitionLog, "flush_due", flush)
    keeper.flush(NOW)
    assert flushed == [1, 2, 3, 4, 5, 6]
