"""Where schemas stand, and that bytes that are no message are one kind of error."""

from __future__ import annotations

import contextlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.wire.apis import APIS
from kaas.wire.decode import Unreadable, decode
from kaas.wire.encode import encode_request
from kaas.wire.schema import camel, is_flexible, message_class, reader
from tests.support.laws import law
from tests.support.messages import plain, random_message

FIRST_FLEXIBLE = {0: 9, 1: 12, 3: 9, 8: 8, 9: 6, 10: 3, 11: 6, 12: 4, 13: 4, 14: 4, 15: 5, 16: 3, 18: 3, 42: 2, 60: 0}


def test_every_served_version_has_a_schema():
    """A version that kio does not know is an error at start, never on a request."""
    for key, api in APIS.items():
        for version in range(api.min_version, api.max_version + 1):
            assert reader(key, version, "request") and reader(key, version, "response")


@pytest.mark.parametrize(("key", "first"), FIRST_FLEXIBLE.items())
def test_versions_are_flexible_from_the_one_on_that_kafka_says(key, first):
    api = APIS[key]
    for version in range(api.min_version, api.max_version + 1):
        assert is_flexible(key, version) == (version >= first)


@pytest.mark.parametrize(("key", "version"), [(11, 99), (9_999, 0), (11, -1)])
def test_a_version_that_nobody_knows_is_a_lookup_error(key, version):
    with pytest.raises(LookupError):
        message_class(key, version, "request")


def test_offset_delete_is_never_flexible():
    assert not is_flexible(47, 0)


def test_names_of_modules_become_names_of_classes():
    assert (camel("join_group"), camel("api_versions")) == ("JoinGroup", "ApiVersions")


def test_bytes_behind_a_message_are_ignored_as_kafka_does():
    data = encode_request(12, 4, {"group_id": "g", "generation_id": 3, "member_id": "m"})
    assert decode(12, 4, "request", b"xx" + data + b"behind", 2).generation_id == 3


KEYS = sorted(APIS)


@given(st.sampled_from(KEYS), st.binary(max_size=60), st.data())
@law
def test_garbage_is_a_message_or_unreadable_and_nothing_else(key, garbage, data):
    api = APIS[key]
    version = data.draw(st.integers(api.min_version, api.max_version))
    with contextlib.suppress(Unreadable):
        decode(key, version, "request", garbage)


@given(st.sampled_from(KEYS), st.integers(0, 2**32), st.data())
@law
def test_a_request_that_is_cut_short_or_hit_is_a_message_or_unreadable(key, seed, data):
    api = APIS[key]
    version = data.draw(st.integers(api.min_version, api.max_version))
    whole = bytearray(encode_request(key, version, plain(random_message(key, version, "request", random.Random(seed)))))
    if whole and data.draw(st.booleans()):
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    cut = data.draw(st.integers(0, len(whole)))
    with contextlib.suppress(Unreadable):
        decode(key, version, "request", bytes(whole[:cut]))


@pytest.mark.parametrize("count", [2**31 - 1, -2, 2**24])
def test_an_array_that_claims_millions_of_rows_is_unreadable(count):
    with pytest.raises(Unreadable):
        decode(42, 0, "request", count.to_bytes(4, "big", signed=True))
