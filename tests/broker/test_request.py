"""A request is answered once: now, later, or not at all."""

import pytest

from kaas.broker.request import Request
from kaas.wire.apis import HEARTBEAT, SYNC_GROUP
from kaas.wire.decode import Unreadable
from kaas.wire.encode import encode_request, encode_response
from kaas.wire.headers import answer_frame


class Line:
    """Stands in for a connection."""

    def __init__(self):
        self.sent = []
        self.refused = []

    def answered(self, request, frame):
        self.sent.append(frame)

    def refuse(self, reason):
        self.refused.append(reason)


def made(version=4, body=None, flexible=True):
    values = {"group_id": "g", "generation_id": 3, "member_id": "m", "group_instance_id": None}
    body = encode_request(HEARTBEAT.key, version, values) if body is None else body
    line = Line()
    return line, Request(None, line, b"head" + body, HEARTBEAT.key, version, 77, "client", 4, flexible)


def test_the_message_begins_where_the_head_ends():
    _, request = made()
    message = request.decode()
    assert (message.group_id, message.generation_id, message.member_id) == ("g", 3, "m")
    assert request.payload[request.body_at :] == encode_request(
        HEARTBEAT.key, 4, {"group_id": "g", "generation_id": 3, "member_id": "m", "group_instance_id": None}
    )
    assert request.frame == len(request.payload).to_bytes(4, "big") + request.payload


def test_bytes_that_are_not_the_message_are_unreadable():
    with pytest.raises(Unreadable):
        made(body=b"\xff")[1].decode()


@pytest.mark.parametrize(("version", "flexible"), [(3, False), (4, True)])
def test_an_answer_goes_out_as_one_frame_with_the_correlation_id(version, flexible):
    line, request = made(version, flexible=flexible)
    request.answer({"error_code": 27})
    assert line.sent == [answer_frame(77, flexible, encode_response(HEARTBEAT.key, version, {"error_code": 27}))]
    assert request.done


def test_only_the_first_answer_is_sent():
    line, request = made()
    request.answer_body(b"first")
    request.answer({"error_code": 0})
    request.answer_nothing()
    assert line.sent == [answer_frame(77, True, b"first")]


def test_a_request_may_have_no_answer():
    line, request = made()
    request.answer_nothing()
    request.answer_body(b"late")
    assert line.sent == [None] and request.done


def test_a_request_may_end_its_connection_instead():
    line, request = made()
    request.refuse("nonsense")
    request.answer_body(b"late")
    assert line.refused == ["nonsense"] and line.sent == []


def test_an_answer_that_its_version_cannot_carry_ends_the_connection():
    line = Line()
    request = Request(None, line, b"", SYNC_GROUP.key, 5, 7, "client", 0, True)
    request.answer({"error_code": 0, "assignment": None})
    assert line.sent == [] and line.refused == ["an answer that cannot be written"]
