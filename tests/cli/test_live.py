"""kaas.cli.live, against a real socket server."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager

import pytest
from websockets.sync.server import serve

from kaas.cli.exits import Exit, Failed
from kaas.cli.live import Live
from tests.support.ports import free_port

PATIENCE_S = 10


@contextmanager
def console(*lives, port=0):
    """A console whose sockets live as told, one after another: each gets the connection."""
    left, asked = list(lives), []

    def handler(connection):
        asked.append((connection.request.path, connection.request.headers.get("Authorization")))
        left.pop(0)(connection)

    with serve(handler, "127.0.0.1", port) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}/ws/x/", asked
        server.shutdown()
        thread.join()


def tells(*messages, code=1000):
    def live(connection):
        for message in messages:
            connection.send(json.dumps(message))
        connection.close(code)

    return live


def stays(connection):
    connection.recv()


def taken(live):
    deadline = time.monotonic() + PATIENCE_S
    while (message := live.take(0.05)) is None:
        assert time.monotonic() < deadline
    return message


def test_messages_come_in_order_and_the_token_is_sent():
    with console(tells({"type": "snapshot", "id": "1-0"}, {"type": "ping"})) as (address, asked):
        live = Live(address, "kaas_t")
        assert [taken(live)["type"], taken(live)["type"]] == ["snapshot", "ping"]
        assert asked == [("/ws/x/", "Bearer kaas_t")]
        live.close()


def test_nothing_is_null():
    with console(stays) as (address, _):
        live = Live(address, "")
        assert live.take(0.05) is None and live.connected
        live.close()
        live.close()
        assert not live.connected


def test_after_a_cut_it_goes_on_from_the_last_event():
    with console(tells({"type": "event", "id": "7-1"}, {"type": "ping"}), tells({"type": "gap"})) as (address, asked):
        live = Live(address, "")
        assert [taken(live)["type"] for _ in range(3)] == ["event", "ping", "gap"]
        assert asked[1][0] == "/ws/x/?since=7-1"
        live.close()


@pytest.mark.parametrize(("code", "ends"), [(4403, Exit.REFUSED), (4404, Exit.NOT_FOUND)])
def test_a_right_that_is_gone_ends_it(code, ends):
    with console(tells(code=code)) as (address, _):
        live = Live(address, "")
        with pytest.raises(Failed) as failed:
            taken(live)
        assert failed.value.status == ends and not live.connected


def test_it_waits_for_a_console_that_is_away_longer_each_time():
    now = [0.0]
    live = Live(f"ws://127.0.0.1:{free_port()}/ws/x/", "", lambda: now[0])
    waits = []
    for _ in range(5):
        assert live.take(0) is None and not live.connected
        waits.append(live._next_try - now[0])
        now[0] = live._next_try
    assert waits == [0.5, 1.0, 2.0, 5.0, 5.0]
