"""Our writer against kio's own, for every message of every served version."""

from __future__ import annotations

import io
import random

import pytest
from kio.serial import entity_writer

from kaas.wire.apis import APIS
from kaas.wire.decode import decode
from kaas.wire.encode import encode_request, encode_response, message_writer, strict
from kaas.wire.encode import entity_writer as our_writer
from kaas.wire.schema import message_class
from tests.support.messages import plain, random_message

EXAMPLES = 8
MESSAGES = [
    (key, version, kind)
    for key, api in APIS.items()
    for version in range(api.min_version, api.max_version + 1)
    for kind in ("request", "response")
]
ENCODE = {"request": encode_request, "response": encode_response}


def kios(message) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(message))(buffer, message)
    return buffer.getvalue()


@pytest.mark.parametrize(("key", "version", "kind"), MESSAGES, ids=lambda value: str(value))
def test_every_served_message_is_written_as_kio_writes_it(key, version, kind):
    dice = random.Random(f"{key} {version} {kind}")
    for _ in range(EXAMPLES):
        message = random_message(key, version, kind, dice)
        assert ENCODE[kind](key, version, plain(message)) == kios(message)


@pytest.mark.parametrize(("key", "version", "kind"), MESSAGES, ids=lambda value: str(value))
def test_a_field_that_nobody_named_has_the_protocols_default_and_the_message_is_whole(key, version, kind):
    data = ENCODE[kind](key, version, {})
    message = decode(key, version, kind, data)
    assert ENCODE[kind](key, version, plain(message)) == data


def test_one_set_of_values_fits_every_version():
    values = {"error_code": 0, "generation_id": 3, "member_id": "m", "leader": "m", "skip_assignment": True}
    first, last = (decode(11, v, "response", encode_response(11, v, values)) for v in (0, 9))
    assert (first.generation_id, last.generation_id, last.skip_assignment) == (3, 3, True)
    assert not hasattr(first, "skip_assignment")


def test_rows_may_come_from_any_mapping_and_any_sequence():
    rows = [{"member_id": "a"}, {"member_id": "b"}]
    for members in (rows, tuple(rows)):
        answer = decode(13, 4, "response", encode_response(13, 4, {"members": members}))
        assert [m.member_id for m in answer.members] == ["a", "b"]


def test_records_may_be_any_buffer():
    partition = {"partition_index": 0, "records": memoryview(b"batch")}
    values = {"responses": [{"topic": "t", "partitions": [partition]}]}
    answer = decode(1, 11, "response", encode_response(1, 11, values))
    assert answer.responses[0].partitions[0].records == b"batch"


def test_a_name_that_no_version_has_is_ignored_in_service_and_refused_in_strict_tests():
    values = {"error_code": 0, "gneration_id": 3}
    assert encode_response(11, 9, values) == encode_response(11, 9, {"error_code": 0})
    with strict(), pytest.raises(LookupError, match="gneration_id"):
        encode_response(11, 9, values)
    with strict(), pytest.raises(LookupError, match="topik"):
        encode_request(8, 8, {"topics": [{"topik": "t"}]})
    with strict():
        encode_response(11, 0, {"skip_assignment": True})  # another version has it
    encode_response(11, 9, values)


@pytest.mark.parametrize(
    ("values", "problem"), [({"generation_id": 2**31}, "int"), ({"leader": None}, "None"), ({"members": 5}, "int")]
)
def test_a_value_that_does_not_fit_is_an_error_and_not_a_wrong_message(values, problem):
    with pytest.raises(Exception, match=r".*"):
        encode_response(11, 9, {"error_code": 0, **values})
    assert problem


def test_a_writer_is_compiled_once():
    cls = message_class(12, 4, "response")
    assert message_writer(12, 4, "response") is our_writer(cls)
