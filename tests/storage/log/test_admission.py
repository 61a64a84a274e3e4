import pytest

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.admission import Admitted, Append, Appended, admit
from kaas.storage.log.producers import ProducerStates
from kaas.wire.records.codec import Codec
from kaas.wire.records.control import MarkerKind
from kaas.wire.records.header import LOG_APPEND_TIME, NO_TIMESTAMP, read_header
from kaas.wire.records.record import decode_records
from kaas.wire.records.rewrite import stamped
from tests.storage.log.making import NOW, batch, config, marker

PLAIN = config()


def admitted(data: bytes, settings=PLAIN, producers: ProducerStates | None = None, **more) -> Admitted:
    result = admit(Append(data=data, **more), settings, producers or ProducerStates(), NOW)
    assert isinstance(result, Admitted)
    assert read_header(result.data) == result.header
    return result


def refusal(data: bytes, settings=PLAIN, producers: ProducerStates | None = None, **more) -> ErrorCode:
    with pytest.raises(KafkaError) as raised:
        admit(Append(data=data, **more), settings, producers or ProducerStates(), NOW)
    return raised.value.code


def knowing(*batches: bytes) -> ProducerStates:
    producers = ProducerStates()
    for data in batches:
        producers.append(read_header(data), NO_TIMESTAMP, NOW)
    return producers


def test_a_plain_batch_is_taken_as_it_came():
    data = batch("a", codec=Codec.GZIP)
    assert admitted(data).data == data


def test_a_batch_is_checked_as_a_client_sent_it():
    assert refusal(batch("a")[:-1] + b"x") == ErrorCode.CORRUPT_MESSAGE
    assert refusal(batch("a" * 100), config(max_message_bytes=100)) == ErrorCode.MESSAGE_TOO_LARGE
    assert refusal(batch("a" * 100), config(segment_bytes=100)) == ErrorCode.RECORD_LIST_TOO_LARGE


@pytest.mark.parametrize(
    ("at", "settings", "code"),
    [
        (NOW + 3_600_000, {}, None),
        (NOW + 3_600_001, {}, ErrorCode.INVALID_TIMESTAMP),
        ([NOW, NOW + 3_600_001], {}, ErrorCode.INVALID_TIMESTAMP),
        (NOW + 11, {"message_timestamp_after_max_ms": 10}, ErrorCode.INVALID_TIMESTAMP),
        (0, {}, None),
        ([NOW, NOW - 10], {"message_timestamp_before_max_ms": 10}, None),
        ([NOW, NOW - 11], {"message_timestamp_before_max_ms": 10}, ErrorCode.INVALID_TIMESTAMP),
        (NOW + 3_600_001, {"message_timestamp_type": "LogAppendTime"}, None),
    ],
)
def test_times_must_be_near_the_clock_as_far_as_the_topic_says(at, settings, code):
    data = batch("a", "b", at=at)
    if code is None:
        admitted(data, config(**settings))
    else:
        assert refusal(data, config(**settings)) == code


def test_a_topic_may_stamp_batches_with_its_own_time():
    one = admitted(batch("a", "b", at=[1, 2]), config(message_timestamp_type="LogAppendTime"))
    assert [r.timestamp for r in decode_records(one.data, 0, one.header)] == [NOW, NOW]


def test_a_stamp_that_a_client_made_up_is_taken_away():
    data = batch("a", at=5)
    one = admitted(stamped(data, read_header(data), 99))
    assert not one.header.attributes & LOG_APPEND_TIME
    assert decode_records(one.data, 0, one.header)[0].timestamp == 5


def test_a_topic_may_have_its_own_compression():
    data = batch("a" * 1000)
    one = admitted(data, config(compression_type="zstd"))
    assert one.header.codec == Codec.ZSTD and one.header.size < len(data)
    assert decode_records(one.data, 0, one.header) == decode_records(data, 0, read_header(data))


def test_a_compacted_topic_wants_keys():
    compacted = config(cleanup_policy="compact")
    assert refusal(batch("a", "b", keys=["k", None]), compacted) == ErrorCode.INVALID_RECORD
    admitted(batch("a", None, keys=["k", "l"]), compacted)


def test_a_batch_that_comes_again_is_answered_with_its_first_place():
    data = batch("a", "b", producer=5, sequence=3)
    assert admit(Append(data=data), PLAIN, knowing(data), NOW) == Appended(base_offset=0)


def test_a_batch_out_of_order_or_of_a_fenced_producer_is_refused():
    producers = knowing(batch("a", producer=5, epoch=1))
    assert refusal(batch("b", producer=5, epoch=1, sequence=2), PLAIN, producers) == (
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    )
    assert refusal(batch("b", producer=5, sequence=1), PLAIN, producers) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_transaction_must_be_verified_before_it_opens_here():
    data = batch("a", producer=5, transactional=True)
    assert refusal(data, verified=False) == ErrorCode.INVALID_TXN_STATE
    admitted(data)
    following = batch("b", producer=5, sequence=1, transactional=True)
    admitted(following, producers=knowing(data), verified=False)


def test_a_marker_is_read_and_checked():
    request = marker(MarkerKind.ABORT, producer=5, coordinator_epoch=2)
    result = admit(request, PLAIN, ProducerStates(), NOW)
    assert (result.marker.kind, result.marker.coordinator_epoch) == (MarkerKind.ABORT, 2)
    producers = knowing(batch("a", producer=5, epoch=1))
    assert refusal(request.data, PLAIN, producers, is_marker=True) == ErrorCode.INVALID_PRODUCER_EPOCH
