"""offsets.decoding.values, with a registry over HTTP."""

from __future__ import annotations

import json

import pytest

from offsets.decoding.registry import Registry
from offsets.decoding.values import HEX, READ_BYTES, SHOWN_BYTES, TEXT, Values
from tests.support.registry import RegistryServer, framed

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "n", "type": "long"}]}


@pytest.fixture
def server():
    with RegistryServer() as started:
        started.register(1, json.dumps(ORDER))
        started.register(2, "{}", "JSON")
        started.register(3, "?", "THRIFT")
        yield started


@pytest.fixture
def values(server):
    return Values(Registry(server.url, timeout_ms=5_000))


def test_it_works(values):
    assert values.shown(framed(1, b"\x0e")) == {
        "encoding": "json",
        "data": '{"n": 7}',
        "size": 6,
        "cut": False,
        "schema": {"id": 1, "kind": "AVRO", "name": "Order"},
        "note": None,
    }
    assert values.shown(framed(2, b'{"a": 1}'))["data"] == '{"a": 1}'


def test_null_is_not_empty(values):
    assert (values.shown(None)["encoding"], values.shown(b"")["encoding"]) == (None, "text")


def test_a_schema_is_asked_for_once_for_many_values(server, values):
    for n in range(10):
        values.shown(framed(1, bytes([2 * n])))
    assert server.asked == ["/schemas/ids/1"]


@pytest.mark.parametrize(
    ("data", "note"),
    [
        (framed(1, b""), "does not fit"),
        (framed(1, b"\x0e\x0e"), "left over"),
        (framed(3, b"x"), "THRIFT"),
        (framed(9, b"x"), "does not know schema 9"),
        (framed(1, b"x" * READ_BYTES), "longer"),
    ],
)
def test_what_cannot_be_read_is_shown_as_bytes_and_says_why(values, data, note):
    row = values.shown(data)
    assert row["encoding"] == "hex" and row["data"] == data.hex()[: 2 * SHOWN_BYTES] and note in row["note"]
    assert row["schema"]["id"] == int.from_bytes(data[1:5], "big")


def test_a_registry_that_fails_is_one_problem_for_all_values(server, values):
    server.broken = (500, b"")
    rows = [values.shown(framed(schema_id, b"x")) for schema_id in (1, 1, 1)]
    assert all("answered 500" in row["note"] for row in rows) and len(values.problems) == 1


def test_without_a_registry_a_frame_is_only_suspected():
    row = Values().shown(framed(5, b"abc"))
    assert row["encoding"] == "hex" and "no schema registry is set" in row["note"] and row["schema"]["id"] == 5


def test_one_may_ask_for_text_or_digits(server):
    registry = Registry(server.url, timeout_ms=5_000)
    for show_as, shown in ((TEXT, "\0\0\0\0\1\x0e"), (HEX, "00000000010e")):
        row = Values(registry, show_as=show_as).shown(framed(1, b"\x0e"))
        assert (row["encoding"], row["data"], row["schema"]) == (show_as, shown, None)
    assert server.asked == []


@pytest.mark.parametrize(("byte", "length"), [(b"a", SHOWN_BYTES), (b"\xff", 2 * SHOWN_BYTES)])
def test_long_values_are_cut_and_say_so(byte, length):
    row = Values().shown(byte * (SHOWN_BYTES + 1))
    assert row["cut"] and len(row["data"]) == length and row["size"] == SHOWN_BYTES + 1
    assert not Values().shown(byte * SHOWN_BYTES)["cut"]
    assert len(Values(shown_bytes=10).shown(b"a" * 99)["data"]) == 10
