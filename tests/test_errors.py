"""Kafka's error codes as data."""

from __future__ import annotations

import pytest
from kio.schema.errors import ErrorCode as KioErrorCode

from kaas.errors import ErrorCode, KafkaError, error_code


def test_numbers_and_names_are_kafkas():
    kafkas = {code.name.upper(): int(code) for code in KioErrorCode}
    shared = [code for code in ErrorCode if code.name in kafkas]
    assert len(shared) >= 0.9 * len(ErrorCode)
    assert {code.name: int(code) for code in shared} == {code.name: kafkas[code.name] for code in shared}


def test_no_number_stands_for_two_codes():
    assert len({int(code) for code in ErrorCode}) == len(list(ErrorCode))


def test_a_group_with_members_is_68():
    """One page of the specification says 67, which is INVALID_PRINCIPAL_TYPE."""
    assert (ErrorCode.NON_EMPTY_GROUP, ErrorCode.GROUP_ID_NOT_FOUND) == (68, 69)


@pytest.mark.parametrize("number", [14, 15, 16, 3, 88])
def test_what_a_client_may_ask_again_is_retriable(number):
    assert error_code(number).retriable


@pytest.mark.parametrize("number", [22, 23, 25, 27, 68, 79, 82])
def test_what_a_client_must_act_on_is_not(number):
    assert not error_code(number).retriable


def test_every_code_has_a_meaning_of_one_line():
    assert all(code.meaning and "\n" not in code.meaning and not code.meaning.endswith(".") for code in ErrorCode)


def test_a_code_goes_on_the_wire_as_it_is():
    assert ErrorCode.UNKNOWN_MEMBER_ID == 25 and f"{ErrorCode.UNKNOWN_MEMBER_ID:d}" == "25"
    assert not ErrorCode.NONE and {ErrorCode.NONE: "x"}[0] == "x"


def test_a_number_that_nobody_knows_is_an_unknown_error():
    assert error_code(25) is ErrorCode.UNKNOWN_MEMBER_ID
    assert error_code(9_999) is error_code(-1) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_an_exception_carries_its_code_and_says_something():
    told = KafkaError(ErrorCode.INVALID_GROUP_ID, "the id is empty")
    assert (told.code, str(told)) == (ErrorCode.INVALID_GROUP_ID, "the id is empty")
    assert str(KafkaError(ErrorCode.INVALID_GROUP_ID)) == ErrorCode.INVALID_GROUP_ID.meaning
