"""One connection: requests in, answers out, one after another."""

import struct
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.broker import connection as module
from kaas.broker.connection import FRAME_COST_BYTES, Connection
from tests.support.held import HeldClock, HeldLoop, HeldTransport
from tests.support.laws import law


def frame(payload):
    return struct.pack(">i", len(payload)) + payload


class Desk:
    """Stands in for dispatch: payloads that begin with "park" are answered when the test says so, others at once."""

    def __init__(self, room=True):
        self.room = room
        self.served = []
        self.parked = []
        self.open = []
        self.holding = []

    def opened(self, connection):
        if self.room:
            self.open.append(connection)
        return self.room

    def closed(self, connection):
        if connection in self.open:
            self.open.remove(connection)

    def serve(self, connection, payload):
        self.served.append(payload)
        request = SimpleNamespace(payload=payload)
        if payload.startswith(b"park"):
            self.parked.append((connection, request))
            return request
        connection.answered(request, b"<" + payload + b">")
        return None

    def hold(self, connection):
        self.holding.append(connection)

    def serve_known(self, connection, known, data):
        return known(data)

    def end_round(self):
        holding, self.holding = self.holding, []
        for connection in holding:
            connection.serve_held()

    def answer_parked(self, data=b"<parked>"):
        connection, request = self.parked.pop(0)
        connection.answered(request, data)


def opened(desk=None, max_bytes=1_000, host="127.0.0.1"):
    desk = desk or Desk()
    connection = Connection(desk, "PLAINTEXT", max_bytes)
    transport = HeldTransport(host)
    connection.connection_made(transport)
    return desk, connection, transport


def test_a_request_is_served_and_its_answer_sent():
    desk, connection, transport = opened()
    connection.data_received(frame(b"one"))
    assert desk.served == [b"one"] and transport.written == [b"<one>"]


def test_a_client_is_known_by_its_address_as_kafka_shows_it():
    assert opened(host="10.1.2.3")[1].client_host == "/10.1.2.3"


def test_where_there_is_no_room_it_is_closed():
    _, _, transport = opened(Desk(room=False))
    assert transport.closed


def test_a_request_behind_a_parked_one_waits_for_it():
    desk, connection, transport = opened()
    connection.data_received(frame(b"park") + frame(b"two") + frame(b"park again") + frame(b"four"))
    assert desk.served == [b"park"] and not connection.is_idle
    desk.answer_parked()
    assert desk.served == [b"park", b"two", b"park again"]
    desk.answer_parked()
    assert transport.written == [b"<parked>", b"<two>", b"<parked>", b"<four>"] and connection.is_idle


def test_a_request_without_an_answer_makes_way_for_the_next():
    desk, connection, transport = opened()
    connection.data_received(frame(b"park") + frame(b"two"))
    desk.answer_parked(None)
    assert transport.written == [b"<two>"]


def test_many_requests_at_once_do_not_pile_up_on_the_stack():
    desk, connection, transport = opened()
    connection.data_received(frame(b"one") * 5_000)
    assert len(desk.served) == len(transport.written) == 5_000


def test_a_socket_is_not_read_while_too_much_waits_behind_a_parked_request(monkeypatch):
    monkeypatch.setattr(module, "WAITING_BYTES", 10 * (FRAME_COST_BYTES + 100))
    desk, connection, transport = opened()
    connection.data_received(frame(b"park") + frame(b"x" * 100) * 10)
    assert transport.reads
    connection.data_received(frame(b"x" * 100))
    assert not transport.reads
    desk.answer_parked()
    assert transport.reads and len(transport.written) == 12


def test_tiny_requests_that_wait_are_counted_with_what_they_cost(monkeypatch):
    monkeypatch.setattr(module, "WAITING_BYTES", 1_000)
    _, connection, transport = opened()
    connection.data_received(frame(b"park") + frame(b"x") * 20)
    assert not transport.reads


def test_a_client_that_does_not_read_is_not_served_until_it_does():
    desk, connection, transport = opened()
    connection.pause_writing()
    connection.data_received(frame(b"one") + frame(b"two"))
    assert desk.served == []
    connection.resume_writing()
    assert transport.written == [b"<one>", b"<two>"]


@pytest.mark.parametrize("size", [-1, 0, 1_001, 2**31 - 1])
def test_a_frame_that_cannot_be_ends_the_connection(size):
    desk, connection, transport = opened()
    connection.data_received(struct.pack(">i", size) + b"xxxx")
    assert transport.closed and desk.served == []
    connection.data_received(frame(b"late"))
    connection.connection_lost(None)
    assert desk.served == [] and desk.open == []


def test_a_refused_connection_serves_nothing_more():
    desk, connection, transport = opened()
    connection.data_received(frame(b"park") + frame(b"two"))
    connection.refuse("for a reason")
    desk.answer_parked()
    assert transport.closed and transport.written == [] and desk.served == [b"park"]


def test_an_answer_for_a_client_that_went_away_is_dropped():
    desk, connection, transport = opened()
    connection.data_received(frame(b"park") + frame(b"two"))
    connection.connection_lost(ConnectionResetError())
    desk.answer_parked()
    assert transport.written == [] and desk.served == [b"park"] and desk.open == []


def test_rounds_of_silence_begin_anew_with_every_byte():
    _, connection, _ = opened()
    connection.silent_rounds = 2
    connection.data_received(b"\0")
    assert connection.silent_rounds == 0


def test_what_a_client_leaves_unread_is_seen():
    _, connection, transport = opened()
    assert not connection.is_stalled()
    connection.pause_writing()
    transport.unread_bytes = 100
    assert connection.is_stalled()
    assert connection.is_stalled()
    transport.unread_bytes = 60
    assert not connection.is_stalled() and connection.is_stalled()
    connection.resume_writing()
    assert not connection.is_stalled()


def test_a_connection_may_be_ended_with_what_was_not_read():
    _, connection, transport = opened()
    connection.refuse("for a reason", at_once=True)
    assert transport.aborted


async def test_a_muted_connection_serves_what_came_when_the_time_is_over(monkeypatch):
    clock = HeldClock()
    loop = HeldLoop(clock)
    monkeypatch.setattr(module.asyncio, "get_running_loop", lambda: loop)
    _, connection, transport = opened()
    connection.mute(0.5)
    connection.data_received(frame(b"one"))
    connection.mute(0.2)
    loop.passes(199)
    assert transport.written == []
    loop.passes(1)
    assert transport.written == [b"<one>"] and not loop.waiting


async def test_a_muted_connection_that_goes_leaves_no_timer(monkeypatch):
    loop = HeldLoop(HeldClock())
    monkeypatch.setattr(module.asyncio, "get_running_loop", lambda: loop)
    _, connection, _ = opened()
    connection.mute(0.5)
    connection.connection_lost(None)
    assert not loop.waiting


def test_frames_may_be_limited_for_a_time():
    desk, connection, transport = opened()
    connection.take_frames_up_to(3)
    connection.data_received(frame(b"one"))
    connection.take_frames_up_to(connection.max_bytes)
    connection.data_received(frame(b"three"))
    connection.take_frames_up_to(3)
    connection.data_received(frame(b"three"))
    assert desk.served == [b"one", b"three"] and transport.closed


def recognising(connection, *payloads):
    """The frames that the connection serves as ones that came before."""
    frames, served = [frame(payload) for payload in payloads], []

    def serve(data):
        if data not in frames:
            return False
        served.append(data)
        connection.answered(None, b"<" + data[4:] + b">")
        return True

    for one in frames:
        connection.remember(len(one), serve)
    return served


def test_a_frame_that_came_before_is_served_when_the_round_ends():
    desk, connection, transport = opened()
    served = recognising(connection, b"one")
    connection.data_received(frame(b"one"))
    assert desk.holding == [connection] and not served and not connection.is_idle
    desk.end_round()
    assert served and transport.written == [b"<one>"] and desk.served == [] and connection.is_idle


@pytest.mark.parametrize("rest", [frame(b"two"), frame(b"two") + frame(b"three")[:5]])
def test_what_comes_behind_a_frame_that_is_held_stays_behind_it(rest):
    desk, connection, transport = opened()
    served = recognising(connection, b"one")
    connection.data_received(frame(b"one"))
    connection.data_received(rest)
    desk.end_round()
    connection.data_received((frame(b"two") + frame(b"three"))[len(rest) :])
    assert not served and desk.holding == []
    assert transport.written == [b"<one>", b"<two>", b"<three>"]


def test_bytes_as_long_as_a_frame_that_came_before_may_be_anything():
    desk, connection, transport = opened()
    served = recognising(connection, b"four")
    for chunk in (b"\0\0\0\x0cfour", frame(b"four")):
        connection.data_received(chunk)
        desk.end_round()
    assert not served and desk.served == [b"four\0\0\0\4four"]
    connection.data_received(struct.pack(">i", -1) + b"four")
    desk.end_round()
    assert transport.closed


def test_a_frame_that_is_held_waits_for_the_one_that_is_parked():
    desk, connection, transport = opened()
    served = recognising(connection, b"one")
    connection.data_received(frame(b"park"))
    connection.data_received(frame(b"one"))
    desk.end_round()
    assert not served and transport.written == []
    desk.answer_parked()
    assert transport.written == [b"<parked>", b"<one>"]


def test_a_frame_that_is_held_waits_for_a_client_that_does_not_read():
    desk, connection, transport = opened()
    served = recognising(connection, b"one")
    connection.data_received(frame(b"one"))
    connection.pause_writing()
    desk.end_round()
    assert not served and desk.served == []
    connection.resume_writing()
    assert transport.written == [b"<one>"]


def test_what_is_forgotten_while_it_is_held_is_read():
    desk, connection, _ = opened()
    served = recognising(connection, b"one")
    connection.data_received(frame(b"one"))
    connection.forget()
    desk.end_round()
    assert not served and desk.served == [b"one"]


@pytest.mark.parametrize("end", [lambda one: one.refuse("a reason"), lambda one: one.connection_lost(None)])
def test_nothing_is_served_of_a_connection_that_ends_while_it_holds_a_frame(end):
    desk, connection, transport = opened()
    served = recognising(connection, b"one")
    connection.data_received(frame(b"one"))
    end(connection)
    desk.end_round()
    assert not served and desk.served == [] and transport.written == []


def test_what_is_recognised_can_be_forgotten():
    _, connection, _ = opened()
    connection.comes_again(7)
    assert connection.comes_again(7)
    connection.forget()
    assert not connection.comes_again(7)


@given(st.lists(st.sampled_from([b"one", b"park", b"a longer payload"]), max_size=12), st.data())
@law
def test_answers_come_in_the_order_of_requests_however_the_bytes_are_cut(payloads, data):
    desk, connection, transport = opened()
    stream = b"".join(frame(payload) for payload in payloads)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        connection.data_received(stream[begin:end])
        if desk.parked and data.draw(st.booleans()):
            desk.answer_parked()
    while desk.parked:
        desk.answer_parked()
    assert desk.served == payloads
    assert transport.written == [b"<parked>" if p == b"park" else b"<" + p + b">" for p in payloads]


@given(st.lists(st.sampled_from([b"one", b"park", b"a longer payload", b"two"]), max_size=12), st.data())
@law
def test_answers_come_in_that_order_too_where_some_requests_are_recognised(payloads, data):
    desk, connection, transport = opened()
    recognising(connection, b"one", b"a longer payload")
    stream = b"".join(frame(payload) for payload in payloads)
    ends = [0]
    for payload in payloads:
        ends.append(ends[-1] + len(frame(payload)))
    cuts = sorted(data.draw(st.lists(st.one_of(st.sampled_from(ends), st.integers(0, len(stream))), max_size=12)))
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        connection.data_received(stream[begin:end])
        if desk.parked and data.draw(st.booleans()):
            desk.answer_parked()
        if data.draw(st.booleans()):
            desk.end_round()
    desk.end_round()
    while desk.parked:
        desk.answer_parked()
    assert transport.written == [b"<parked>" if p == b"park" else b"<" + p + b">" for p in payloads]
