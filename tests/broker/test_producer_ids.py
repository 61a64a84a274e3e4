import pytest

from kaas.broker.producer_ids import BLOCK_SIZE, ProducerIds
from kaas.errors import ErrorCode, KafkaError
from tests.storage.log.making import disk_takes

BROKER = 3
FIRST = BROKER << 40


class Thread:
    """Runs what it is given when the test says so."""

    def __init__(self) -> None:
        self.waiting = []

    def __call__(self, function, done) -> None:
        self.waiting.append((function, done))

    def run(self) -> None:
        waiting, self.waiting = self.waiting, []
        for function, done in waiting:
            try:
                result = function()
            except KafkaError as error:
                result = error
            done(result)


@pytest.fixture
def thread():
    return Thread()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "producer-ids.json"


def given(ids, thread, count: int) -> list:
    out: list = []
    for _ in range(count):
        ids.give(out.append)
        thread.run()
    return out


def test_ids_follow_one_another_and_none_is_given_twice(path, thread):
    ids = ProducerIds(path, BROKER, thread)
    assert given(ids, thread, 2 * BLOCK_SIZE + 5) == list(range(FIRST, FIRST + 2 * BLOCK_SIZE + 5))


def test_a_restart_begins_a_new_block(path, thread):
    given(ProducerIds(path, BROKER, thread), thread, 3)
    assert given(ProducerIds(path, BROKER, thread), thread, 2) == [FIRST + BLOCK_SIZE, FIRST + BLOCK_SIZE + 1]


def test_brokers_give_different_ids(tmp_path, thread):
    seen = [given(ProducerIds(tmp_path / str(id), id, thread), thread, 1)[0] for id in (0, 1, 2)]
    assert seen == [0, 1 << 40, 2 << 40]


def test_those_who_ask_while_a_block_is_reserved_wait_for_it(path, thread):
    ids, out = ProducerIds(path, BROKER, thread), []
    for _ in range(BLOCK_SIZE + 3):
        ids.give(out.append)
    assert out == [] and len(thread.waiting) == 1
    thread.run()
    assert len(out) == BLOCK_SIZE and len(thread.waiting) == 1
    thread.run()
    assert out == list(range(FIRST, FIRST + BLOCK_SIZE + 3))


def test_a_disk_that_refuses_is_told_and_asked_again(path, thread):
    ids = ProducerIds(path, BROKER, thread)
    with disk_takes(1):
        (refused,) = given(ids, thread, 1)
    assert refused.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert given(ids, thread, 1) == [FIRST]


def test_a_file_that_cannot_be_read_is_not_overwritten(path, thread):
    path.parent.mkdir()
    path.write_bytes(b"{broken")
    (refused,) = given(ProducerIds(path, BROKER, thread), thread, 1)
    assert refused.code == ErrorCode.KAFKA_STORAGE_ERROR and path.read_bytes() == b"{broken"
