"""offsets.decoding.registry, against a registry over HTTP."""

from __future__ import annotations

import json

import pytest

from groups.problems import NOT_CONNECTED, NOT_FOUND, REFUSED, TIMEOUT, Problem
from offsets.decoding.registry import ANSWER_BYTES, FAILED_S, KEPT_SCHEMAS, Registry, registry_at, without_password
from tests.support.ports import free_port
from tests.support.registry import RegistryServer


class Clock:
    """Seconds that go on when a test says so."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def server():
    with RegistryServer() as started:
        yield started


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def registry(server, clock):
    return Registry(server.url, timeout_ms=5_000, clock=clock)


def refused(registry: Registry, schema_id: int = 1) -> Problem:
    with pytest.raises(Problem) as raised:
        registry.schema(schema_id)
    return raised.value


def test_it_works(server, registry):
    server.register(7, '"string"')
    found = registry.schema(7)
    assert (found.kind, found.text, found.references) == ("AVRO", '"string"', ())


def test_a_schema_is_asked_for_once(server, registry):
    server.register(7, '"string"')
    assert registry.schema(7) is registry.schema(7) and server.asked == ["/schemas/ids/7"]


def test_what_a_schema_refers_to_comes_with_it_and_before_it(server, registry):
    server.register(1, "c", "PROTOBUF", subject="c/odd name")
    server.register(2, "b", "PROTOBUF", subject="b", references=(("c.proto", "c/odd name", 1),))
    references = (("b.proto", "b", 1), ("c.proto", "c/odd name", 1))
    server.register(3, "a", "PROTOBUF", subject="a", references=references)
    assert [(name, one.text) for name, one in registry.schema(3).references] == [("c.proto", "c"), ("b.proto", "b")]


def test_schemas_that_refer_to_each_other_end(server, registry):
    server.register(1, "a", subject="a", references=(("b", "b", 1),))
    server.register(2, "b", subject="b", references=(("a", "a", 1),))
    assert refused(registry).kind is REFUSED


def test_an_unknown_id_is_not_asked_for_again_for_a_moment(server, registry, clock):
    assert refused(registry, 4).kind is NOT_FOUND and refused(registry, 4).kind is NOT_FOUND
    assert len(server.asked) == 1
    server.register(4, '"string"')
    clock.now_s += FAILED_S
    assert registry.schema(4).text == '"string"'


def test_a_registry_that_is_away_is_left_alone_for_a_moment(clock):
    registry = Registry(f"http://127.0.0.1:{free_port()}", timeout_ms=1_000, clock=clock)
    first = refused(registry, 1)
    assert first.kind is NOT_CONNECTED and refused(registry, 2) is first
    clock.now_s += FAILED_S
    assert refused(registry, 2) is not first


def test_one_that_is_late_is_not_waited_for(server, clock):
    server.held.clear()
    assert refused(Registry(server.url, timeout_ms=50, clock=clock)).kind is TIMEOUT


@pytest.mark.parametrize(
    "broken",
    [
        (500, b"{}"),
        (302, b""),
        (200, b"not json"),
        (200, b"[]"),
        (200, b"[" * 50_000),
        (200, b'{"schema": 7}'),
        (200, b'{"schema": "x", "schemaType": 7}'),
        (200, b'{"schema": "' + b"x" * ANSWER_BYTES + b'"}'),
        (401, json.dumps({"message": "who are you"}).encode()),
    ],
)
def test_an_answer_that_makes_no_sense_is_a_problem(server, registry, broken):
    server.broken = broken
    problem = refused(registry)
    assert problem.kind is REFUSED and problem.resource.startswith("schema registry http://127.0.0.1")


def test_the_password_is_sent_and_never_said(server, clock):
    url = server.url.replace("http://", "http://user:secret@")
    registry = Registry(url, timeout_ms=5_000, clock=clock)
    assert "secret" not in str(refused(registry)) and "user" not in str(refused(registry))
    assert server.authorizations == ["Basic dXNlcjpzZWNyZXQ="]


def test_schemas_that_were_not_used_for_long_are_forgotten(server, registry):
    server.broken = (200, b'{"schema": "x"}')
    for schema_id in range(KEPT_SCHEMAS + 1):
        registry._kept[schema_id] = registry._fetch(0) if schema_id == 0 else registry._kept[0]
    registry.schema(KEPT_SCHEMAS + 1)
    assert 0 not in registry._kept and len(registry._kept) == KEPT_SCHEMAS + 1


def test_a_process_has_one_registry_per_address():
    assert registry_at("http://a", 1) is registry_at("http://a", 1) is not registry_at("http://b", 1)


def test_an_address_is_shown_without_who_signs_in():
    assert without_password("https://u:p@host:1/x") == "https://host:1/x"
