"""The codes are those of Apache Kafka 4.2, save for a compression that does not exist (Apache:
UNKNOWN_SERVER_ERROR).
"""

import struct

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from kaas.errors import ErrorCode, KafkaError
from kaas.wire.records.codec import Codec
from kaas.wire.records.header import CONTROL, read_header
from kaas.wire.records.record import Origin, Record, build_batch
from kaas.wire.records.validate import validate_produced

LIMIT = 1_048_588
GOOD = build_batch([Record(offset=0, timestamp=1, value=b"a"), Record(offset=1, timestamp=2, value=b"b")])


def patched(form: str, *changes: tuple[int, int], data: bytes = GOOD) -> bytes:
    """The batch with fields changed (position, value) and its checksum made right again."""
    out = bytearray(data)
    for position, value in changes:
        struct.pack_into(form, out, position, value)
    struct.pack_into(">I", out, 17, crc32c(bytes(out[21:])))
    return bytes(out)


def with_length(length: int) -> bytes:
    return GOOD[:8] + struct.pack(">i", length) + GOOD[12:]


def of(**more) -> bytes:
    return build_batch([Record(offset=0, timestamp=1, value=b"a")], **more)


def code_of(data: bytes, max_message_bytes: int = LIMIT) -> ErrorCode:
    with pytest.raises(KafkaError) as raised:
        validate_produced(data, max_message_bytes)
    return raised.value.code


def test_a_good_batch_gives_its_header():
    assert validate_produced(GOOD, LIMIT) == validate_produced(memoryview(GOOD), LIMIT) == read_header(GOOD)


def test_the_smallest_records_are_taken():
    data = build_batch([Record(offset=n, timestamp=1, key=None, value=None) for n in range(3)])
    assert validate_produced(data, LIMIT).record_count == 3


@pytest.mark.parametrize("rest", [b"12345", GOOD[:-3], b"\0" * 11, GOOD[:12]])
def test_a_rest_that_is_no_whole_batch_is_ignored(rest):
    assert validate_produced(GOOD + rest, LIMIT) == read_header(GOOD)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        GOOD[:11],
        GOOD[:16],
        GOOD[:17],
        GOOD[:-3],
        GOOD + GOOD,
        with_length(2**31 - 1),
        GOOD[:16] + b"\0" + GOOD[17:],
        GOOD[:16] + b"\1" + GOOD[17:],
        of(base_offset=7, last_offset_delta=0),
        patched(">i", (57, 5)),
        patched(">i", (23, 5)),
        patched(">i", (23, -1), (57, 0)),
        patched(">i", (57, -1)),
        patched(">i", (23, 2**31 - 2), (57, 2**31 - 1)),
        patched(">i", (23, 2**31 - 2), (57, 2**31 - 1), data=of(codec=Codec.LZ4)),
        of(attributes=CONTROL),
        of(origin=Origin(producer_id=5, producer_epoch=0, base_sequence=-1)),
        patched(">h", (21, 5)),
        patched(">h", (21, 7)),
    ],
    ids=[
        "nothing",
        "11 bytes",
        "16 bytes",
        "17 bytes",
        "truncated",
        "two batches",
        "2 GiB promised",
        "magic 0",
        "magic 1",
        "a base offset",
        "wrong count",
        "wrong last offset",
        "no records",
        "a negative count",
        "more records than bytes",
        "more records than any payload holds",
        "a control batch",
        "a producer without sequence",
        "codec 5",
        "codec 7",
    ],
)
def test_a_malformed_batch_is_an_invalid_record(data):
    assert code_of(data) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    "data",
    [
        GOOD[:-1] + b"x",
        with_length(0),
        with_length(-1),
        with_length(13),
        with_length(14),
        with_length(48),
        with_length(49),
        GOOD[:16] + b"\3" + GOOD[17:],
        GOOD[:16] + b"\xff" + GOOD[17:],
        GOOD + b"\0" * 20,
    ],
    ids=["one byte off", "0", "-1", "13", "14", "48", "49", "magic 3", "magic -1", "zeros behind"],
)
def test_bytes_that_were_damaged_are_a_corrupt_message(data):
    assert code_of(data) == ErrorCode.CORRUPT_MESSAGE


def test_a_batch_may_be_as_large_as_the_limit():
    assert validate_produced(GOOD, len(GOOD)).size == len(GOOD)
    assert code_of(GOOD, len(GOOD) - 1) == ErrorCode.MESSAGE_TOO_LARGE


def test_size_is_judged_before_the_checksum_and_the_base_offset_before_the_size():
    assert code_of(GOOD[:-1] + b"x", 10) == ErrorCode.MESSAGE_TOO_LARGE
    assert code_of(of(base_offset=7, last_offset_delta=0), 10) == ErrorCode.INVALID_RECORD


@given(st.integers(0, len(GOOD) - 1), st.integers(0, 255))
def test_one_changed_byte_is_noticed_save_in_the_leader_epoch(position, value):
    changed = GOOD[:position] + bytes([value]) + GOOD[position + 1 :]
    if changed == GOOD or position in range(12, 16):
        assert validate_produced(changed, LIMIT).record_count == 2
    else:
        assert code_of(changed) in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD)
