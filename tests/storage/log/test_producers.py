import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.producers import KEPT_BATCHES, CompletedTransaction, ProducerStates
from kaas.wire.records.control import Marker, MarkerKind
from kaas.wire.records.header import TRANSACTIONAL, BatchHeader

COMMIT = Marker(kind=MarkerKind.COMMIT, coordinator_epoch=1)
ABORT = Marker(kind=MarkerKind.ABORT, coordinator_epoch=1)


def header(sequence=0, count=1, *, epoch=0, producer=7, offset=0, transactional=False) -> BatchHeader:
    return BatchHeader(
        base_offset=offset,
        batch_length=0,
        leader_epoch=0,
        magic=2,
        checksum=0,
        attributes=TRANSACTIONAL if transactional else 0,
        last_offset_delta=count - 1,
        base_timestamp=0,
        max_timestamp=0,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
        record_count=count,
    )


def wrote(*headers: BatchHeader, states: ProducerStates | None = None) -> ProducerStates:
    states = ProducerStates() if states is None else states
    for one in headers:
        states.append(one, -1, 1000)
    return states


def refusal(states: ProducerStates, one: BatchHeader) -> ErrorCode | None:
    try:
        states.check(one)
    except KafkaError as error:
        return error.code
    return None


def test_a_producer_goes_on_where_it_stopped():
    states = wrote(header(0, 3))
    assert refusal(states, header(3)) is None
    for sequence in (0, 2, 4):
        assert refusal(states, header(sequence)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_an_unknown_producer_may_begin_anywhere():
    assert refusal(ProducerStates(), header(55)) is None


def test_a_new_epoch_begins_at_0_and_fences_the_old_one():
    states = wrote(header(0, 3))
    assert refusal(states, header(3, epoch=1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refusal(states, header(0, epoch=1)) is None
    wrote(header(0, epoch=1), states=states)
    assert refusal(states, header(3)) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert refusal(states, header(1, epoch=1)) is None


def test_sequences_go_on_at_0_after_the_greatest():
    states = wrote(header(2**31 - 2, 2))
    assert refusal(states, header(0)) is None
    states = wrote(header(2**31 - 1, 2))
    assert (refusal(states, header(1)), refusal(states, header(0))) == (None, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=12))
def test_the_last_five_batches_are_recognised_and_no_other(counts):
    states, sent, sequence, offset = ProducerStates(), [], 0, 100
    for count in counts:
        one = header(sequence, count, offset=offset)
        assert refusal(states, one) is None and states.duplicate_of(one) is None
        wrote(one, states=states)
        sent.append(one)
        sequence, offset = sequence + count, offset + count + 3
    found = [states.duplicate_of(one) for one in sent]
    assert [None if one is None else one.base_offset for one in found] == [None] * (len(sent) - KEPT_BATCHES) + [
        one.base_offset for one in sent[-KEPT_BATCHES:]
    ]
    assert states.duplicate_of(header(0, counts[0], epoch=1)) is None
    assert states.duplicate_of(header(0, counts[0] + 1)) is None


def test_a_transaction_is_open_from_its_first_batch_to_its_marker():
    states = wrote(header(0, producer=1, offset=10, transactional=True), header(0, producer=2, offset=11))
    wrote(header(1, producer=1, offset=12, transactional=True), states=states)
    assert (states.first_open_offset, states.is_open(1, 0), states.is_open(1, 1), states.is_open(2, 0)) == (
        10,
        True,
        False,
        False,
    )
    completed = states.end_transaction(header(-1, producer=1, offset=13), ABORT, 1000)
    assert completed == CompletedTransaction(producer_id=1, first_offset=10, last_offset=13, aborted=True)
    assert (states.first_open_offset, states.is_open(1, 0)) == (None, False)
    assert refusal(states, header(2, producer=1)) is None


def test_the_oldest_of_several_transactions_holds_the_stable_offset():
    states = wrote(*[header(0, producer=n, offset=n, transactional=True) for n in (1, 2, 3)])
    states.end_transaction(header(-1, producer=2, offset=4), COMMIT, 1000)
    assert states.first_open_offset == 1
    states.end_transaction(header(-1, producer=1, offset=5), COMMIT, 1000)
    assert states.first_open_offset == 3


def test_a_marker_without_a_transaction_completes_none():
    states = ProducerStates()
    assert states.end_transaction(header(-1), COMMIT, 1000) is None
    assert len(states) == 1


def test_a_marker_of_the_next_epoch_lets_sequences_begin_anew():
    states = wrote(header(0, 3, transactional=True))
    states.check_marker(header(-1, epoch=1), COMMIT)
    states.end_transaction(header(-1, epoch=1), COMMIT, 1000)
    assert (refusal(states, header(0, epoch=1)), refusal(states, header(3))) == (None, ErrorCode.INVALID_PRODUCER_EPOCH)
    assert refusal(states, header(3, epoch=1)) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize(
    ("epoch", "coordinator_epoch", "code"),
    [
        (0, 2, ErrorCode.INVALID_PRODUCER_EPOCH),
        (1, 1, ErrorCode.TRANSACTION_COORDINATOR_FENCED),
        (1, 2, None),
        (2, 3, None),
    ],
)
def test_a_marker_of_an_old_producer_or_an_old_coordinator_is_refused(epoch, coordinator_epoch, code):
    states = ProducerStates()
    states.end_transaction(header(-1, epoch=1), Marker(kind=MarkerKind.COMMIT, coordinator_epoch=2), 1000)
    try:
        states.check_marker(header(-1, epoch=epoch), Marker(kind=MarkerKind.ABORT, coordinator_epoch=coordinator_epoch))
        seen = None
    except KafkaError as error:
        seen = error.code
    assert seen == code


def test_idle_producers_expire_unless_a_transaction_is_open():
    states = ProducerStates()
    states.append(header(0, producer=1), -1, 100)
    states.append(header(0, producer=2, transactional=True), -1, 100)
    states.append(header(0, producer=3), -1, 200)
    states.expire(before_ms=200)
    assert list(states.snapshot().producers) == [2, 3]


operations = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from(["batch", "transactional", "commit", "abort"])), max_size=12
)


def play(states: ProducerStates, rows) -> None:
    for offset, (producer, kind) in enumerate(rows):
        if kind in ("commit", "abort"):
            states.end_transaction(header(-1, producer=producer, offset=offset), ABORT, offset)
        else:
            states.append(header(offset, producer=producer, offset=offset, transactional=kind != "batch"), -1, offset)


@given(operations, operations)
def test_a_rollback_leads_back_to_the_beginning(before, after):
    states = ProducerStates()
    play(states, before)
    states.begin()
    kept = states.snapshot()
    play(states, after)
    states.rollback()
    assert states.snapshot() == kept
    assert list(states.snapshot().open_transactions.items()) == list(kept.open_transactions.items())
    play(states, after)
    expected = ProducerStates(kept)
    play(expected, after)
    assert states.snapshot() == expected.snapshot()


@given(operations)
def test_a_snapshot_is_all_there_is_to_know(rows):
    states = ProducerStates()
    play(states, rows)
    again = ProducerStates(states.snapshot())
    assert again.snapshot() == states.snapshot() and again.first_open_offset == states.first_open_offset
