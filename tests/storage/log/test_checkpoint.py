import pytest

from kaas.storage.log.checkpoint import CHECKPOINT, Checkpoint, read_checkpoint, write_checkpoint
from kaas.storage.log.epochs import LeaderEpochs
from kaas.storage.log.producers import Producer, SentBatch, Snapshot
from tests.storage.log.making import disk_takes

FULL = Checkpoint(
    segment=100,
    size=5000,
    next_offset=140,
    log_start_offset=7,
    cleaned_offset=50,
    epochs=LeaderEpochs(((0, 0), (3, 20))),
    producers=Snapshot(
        producers={
            2**40: Producer(
                epoch=2,
                batches=(SentBatch(base_sequence=0, last_sequence=4, base_offset=130, append_time_ms=-1),),
                updated_ms=99,
                coordinator_epoch=1,
            )
        },
        open_transactions={2**40: 130},
    ),
)


def test_a_checkpoint_comes_back(folder):
    write_checkpoint(str(folder), FULL)
    assert read_checkpoint(str(folder)) == FULL


def test_a_folder_may_have_none(folder):
    assert read_checkpoint(str(folder)) is None


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"segment": "x"}', b"\xff\xfe"])
def test_one_that_cannot_be_read_is_set_aside(folder, data):
    (folder / CHECKPOINT).write_bytes(data)
    assert read_checkpoint(str(folder)) is None
    assert [one.name for one in folder.iterdir()] == [f"{CHECKPOINT}.corrupt"]


def test_a_failed_write_leaves_the_old_one(folder):
    write_checkpoint(str(folder), FULL)
    with disk_takes(10), pytest.raises(OSError):
        write_checkpoint(str(folder), Checkpoint(segment=0, size=0, next_offset=0, log_start_offset=0))
    assert read_checkpoint(str(folder)) == FULL
