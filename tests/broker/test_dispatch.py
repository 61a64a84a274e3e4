"""From a payload to its handler; failures become answers or the end of a connection."""

import asyncio
import struct
from types import SimpleNamespace

import pytest
import structlog

from kaas.broker import dispatch as module
from kaas.broker.connection import Connection
from kaas.broker.dispatch import Dispatcher
from kaas.broker.handlers.k18_api_versions import unknown_version_body
from kaas.broker.request import Request
from kaas.broker.security.metering import MeteredRequest
from kaas.broker.settings import Settings
from kaas.wire.apis import API_VERSIONS, HEARTBEAT, METADATA, PRODUCE
from kaas.wire.encode import encode_request
from kaas.wire.headers import answer_frame
from tests.support.held import HeldTransport

BEAT = {"group_id": "g", "generation_id": 1, "member_id": "m"}


def payload(key, version, body=b"", correlation=7, tagged=False):
    return struct.pack(">hhih", key, version, correlation, 4) + b"test" + b"\0" * tagged + body


def beat(version, tagged):
    return payload(HEARTBEAT.key, version, encode_request(HEARTBEAT.key, version, BEAT), tagged=tagged)


@pytest.fixture
def desk():
    return Dispatcher(SimpleNamespace(settings=Settings({"connections.max.idle.ms": -1})))


@pytest.fixture
def served(monkeypatch):
    """What reaches the handler of Heartbeat, which answers when the test says so."""
    requests = []
    monkeypatch.setitem(module.HANDLERS, HEARTBEAT.key, lambda broker, request: requests.append(request))
    return requests


def connected(desk):
    connection = Connection(desk, "PLAINTEXT", 10_000)
    transport = HeldTransport()
    connection.connection_made(transport)
    return connection, transport


@pytest.mark.parametrize(("version", "tagged"), [(0, False), (3, False), (4, True)])
def test_a_request_reaches_its_handler_with_what_its_head_says(desk, served, version, tagged):
    connection, _ = connected(desk)
    parked = desk.serve(connection, beat(version, tagged))
    (request,) = served
    assert parked is request
    assert (request.key, request.version, request.correlation_id, request.client_id) == (12, version, 7, "test")
    assert request.flexible is tagged and request.decode().group_id == "g"


def test_a_request_that_is_answered_at_once_is_not_parked(desk, monkeypatch):
    monkeypatch.setitem(module.HANDLERS, HEARTBEAT.key, lambda broker, request: request.answer_body(b"xx"))
    connection, transport = connected(desk)
    assert desk.serve(connection, beat(3, False)) is None
    assert transport.written == [answer_frame(7, False, b"xx")]


@pytest.mark.parametrize(
    ("key", "version"),
    [(999, 0), (-1, 0), (HEARTBEAT.key, 5), (HEARTBEAT.key, -1), (METADATA.key, 99), (PRODUCE.key, 2)],
)
def test_what_is_not_served_ends_the_connection(desk, key, version):
    connection, transport = connected(desk)
    assert desk.serve(connection, payload(key, version)) is None
    assert transport.closed and transport.written == []


@pytest.mark.parametrize("version", [5, 99, -1])
def test_an_unknown_version_of_the_table_is_answered_in_version_0(desk, version):
    connection, transport = connected(desk)
    assert desk.serve(connection, payload(API_VERSIONS.key, version, tagged=True)) is None
    assert transport.written == [answer_frame(7, False, unknown_version_body())] and not transport.closed


def test_the_answer_to_the_table_never_has_a_tag_section_in_its_head(desk, monkeypatch):
    seen = []
    monkeypatch.setitem(module.HANDLERS, API_VERSIONS.key, lambda broker, request: seen.append(request.flexible))
    desk.serve(connected(desk)[0], payload(API_VERSIONS.key, 3, tagged=True))
    assert seen == [False]


@pytest.mark.parametrize("data", [b"", b"\0", payload(HEARTBEAT.key, 3)[:9], struct.pack(">hhih", 12, 3, 7, 99) + b"x"])
def test_bytes_that_are_no_request_end_the_connection(desk, data):
    connection, transport = connected(desk)
    assert desk.serve(connection, data) is None
    assert transport.closed


def test_a_body_that_is_not_the_message_ends_the_connection(desk, monkeypatch):
    monkeypatch.setitem(module.HANDLERS, HEARTBEAT.key, lambda broker, request: request.decode())
    connection, transport = connected(desk)
    desk.serve(connection, payload(HEARTBEAT.key, 3, b"\xff"))
    assert transport.closed


def test_a_fault_of_a_handler_ends_its_connection_and_no_other(desk, monkeypatch):
    monkeypatch.setitem(module.HANDLERS, HEARTBEAT.key, lambda broker, request: 1 / 0)
    (one, transport), (_, other) = connected(desk), connected(desk)
    with structlog.testing.capture_logs() as logs:
        desk.serve(one, beat(3, False))
    assert transport.closed and not other.closed
    assert [entry["log_level"] for entry in logs] == ["error", "info"] and logs[0]["exc_info"]


async def test_what_connections_hold_is_served_when_the_round_ends_and_then_decided_whatever_fails(monkeypatch):
    order = []
    broker = SimpleNamespace(
        settings=Settings({"connections.max.idle.ms": -1}),
        clock=SimpleNamespace(look=lambda: order.append("look")),
        groups=SimpleNamespace(decide_gathered=lambda: order.append("decide")),
    )
    desk = Dispatcher(broker)
    ends = [connected(desk) for _ in range(3)]

    def serve(name):
        if name == 1:
            raise RuntimeError("broken")
        order.append(name)
        return True

    for name, (connection, _) in enumerate(ends):
        connection.remember(5, lambda data, name=name: serve(name))
        connection.data_received(b"\0\0\0\1x")
    assert order == []
    await asyncio.sleep(0)
    assert order == ["look", 0, 2, "decide"]
    assert [transport.closed for _, transport in ends] == [False, True, False]


def test_there_is_room_for_so_many_connections():
    desk = Dispatcher(SimpleNamespace(settings=Settings({"max.connections": 2, "connections.max.idle.ms": -1})))
    (first, _), (_, kept), (_, refused) = connected(desk), connected(desk), connected(desk)
    assert refused.closed and not kept.closed and len(desk) == 2
    first.connection_lost(None)
    assert not connected(desk)[1].closed


def test_all_connections_can_be_closed(desk):
    transports = [connected(desk)[1] for _ in range(3)]
    desk.close_all()
    assert all(transport.closed for transport in transports)


async def test_a_connection_without_requests_is_closed_after_its_time(served, monkeypatch):
    desk = Dispatcher(SimpleNamespace(settings=Settings({"connections.max.idle.ms": 3_600_000})))
    (idle, gone), (waiting, kept), (lively, also_kept) = connected(desk), connected(desk), connected(desk)
    waiting.data_received(struct.pack(">i", len(beat(3, False))) + beat(3, False))
    for _ in range(3):
        lively.data_received(b"\0")
        desk._close_idle()
    assert gone.closed and idle.transport is None
    assert not kept.closed and not also_kept.closed
    desk.close_all()


def at(desk, host):
    transport = HeldTransport(host)
    Connection(desk, "PLAINTEXT", 10_000).connection_made(transport)
    return transport


def test_there_is_room_for_so_many_connections_of_one_address():
    limits = {"max.connections.per.ip": 1, "max.connections.per.ip.overrides": "10.0.0.2:2"}
    desk = Dispatcher(SimpleNamespace(settings=Settings({**limits, "connections.max.idle.ms": -1})))
    assert [at(desk, "10.0.0.1").closed for _ in range(2)] == [False, True]
    assert [at(desk, "10.0.0.2").closed for _ in range(3)] == [False, False, True]
    assert len(desk) == 3


async def test_a_client_that_reads_nothing_for_its_time_is_closed_and_no_other(served):
    desk = Dispatcher(SimpleNamespace(settings=Settings({"kaas.slow.reader.ms": 3_600_000})))
    (deaf, gone), (slow, kept), (_, also_kept) = connected(desk), connected(desk), connected(desk)
    deaf.pause_writing()
    slow.pause_writing()
    gone.unread_bytes = kept.unread_bytes = 1_000
    for _ in range(3):
        kept.unread_bytes -= 1
        desk._close_stalled()
    assert gone.aborted and not kept.closed and not also_kept.closed
    desk.close_all()


async def test_what_was_recognised_is_read_anew_when_rights_change(desk):
    connection, _ = connected(desk)
    connection.comes_again(7)
    desk.rights_changed(is_metered=True)
    assert desk._request is MeteredRequest and not connection.comes_again(7)
    desk.rights_changed(is_metered=False)
    assert desk._request is Request
