from kaas.storage.log.aborted import AbortedTransaction
from kaas.storage.log.epochs import LeaderEpochs
from kaas.storage.log.state import LogState
from kaas.wire.records.control import Marker, MarkerKind
from kaas.wire.records.header import read_header
from kaas.wire.records.rewrite import placed, stamped
from tests.storage.log.making import NOW, batch

ABORT = Marker(kind=MarkerKind.ABORT, coordinator_epoch=0)
COMMIT = Marker(kind=MarkerKind.COMMIT, coordinator_epoch=0)


def take(state: LogState, *values: str, ending: Marker | None = None, epoch: int = 0, **more):
    data = batch(*values, **more)
    header = read_header(placed(data, read_header(data), state.next_offset, epoch))
    return state.advance(header, ending, NOW)


def test_offsets_and_epochs_follow_the_batches():
    state = LogState()
    take(state, "a", "b")
    take(state, "c", epoch=3)
    assert (state.next_offset, state.stable_offset, state.epochs) == (3, 3, LeaderEpochs(((0, 0), (3, 2))))


def test_an_aborted_transaction_is_told_with_the_stable_offset_then():
    state = LogState()
    take(state, "a", producer=1, transactional=True)
    take(state, "b", producer=2, transactional=True)
    assert state.stable_offset == 0
    assert take(state, "", producer=1, ending=ABORT) == AbortedTransaction(
        producer_id=1, first_offset=0, last_offset=2, last_stable_offset=1
    )
    assert take(state, "", producer=2, ending=COMMIT) is None
    assert state.stable_offset == 4


def test_a_duplicate_is_answered_with_the_time_it_got():
    state, data = LogState(), batch("a", producer=1)
    state.advance(read_header(stamped(data, read_header(data), 555)), None, NOW)
    assert state.producers.duplicate_of(read_header(data)).append_time_ms == 555


def test_a_rollback_takes_everything_back():
    state = LogState()
    take(state, "a", producer=1)
    state.begin()
    before = (state.next_offset, state.stable_offset, state.epochs, state.producers.snapshot())
    take(state, "b", producer=2, transactional=True, epoch=4)
    take(state, "c", producer=1, sequence=1)
    state.rollback()
    assert (state.next_offset, state.stable_offset, state.epochs, state.producers.snapshot()) == before
