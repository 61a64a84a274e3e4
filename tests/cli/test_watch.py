"""kaas.cli.watch: the picture, and a terminal that is as it was afterwards."""

from __future__ import annotations

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from datetime import timedelta

import pytest
from rich.console import Console
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import serve

from kaas.cli.__main__ import main
from kaas.cli.exits import Exit
from kaas.cli.watch import TERMINATED, picture
from kaas.cli.watched import Watched
from tests.cli.conftest import listing
from tests.cli.watching import NOW, described, event, member, snapshot
from tests.support.broker import ROOT

PATIENCE_S = 20
ENTERED, LEFT = b"\x1b[?1049h", b"\x1b[?1049l"
HIDDEN, SHOWN = b"\x1b[?25l", b"\x1b[?25h"


def drawn(watched, *, width=100, height=30, connected=True, age_s=1.0, group="shop", now=NOW):
    screen = Console(width=width, height=height, file=io.StringIO(), color_system=None)
    screen.print(picture(group, watched, now, connected, age_s, width, height))
    return screen.file.getvalue().splitlines()


def watching(group, *messages, ticks=3):
    watched = Watched()
    watched.take(snapshot(group))
    for message in messages:
        watched.take(message)
    for _ in range(ticks):
        watched.tick(NOW)
    return watched


def test_a_stable_group_at_a_glance():
    lines = drawn(watching(described(member("a"), member("b", instance_id="host-2"))))
    assert lines[0].split("  ")[:3] == ["shop", "Stable", "generation 4"] and "lag 12 (ok)" in lines[0]
    row = next(line for line in lines if "client-a" in line)
    assert "###" in row and row.split()[-5:] == ["stable", "2", "3", "0", "s"]
    assert any("host-2" in line for line in lines) and "live, heard 1 s ago" in lines[-1]


def test_it_says_whom_the_group_waits_for_and_until_when():
    waiting = {"member_id": "b", "client_id": "client-b", "timer": "rebalance", "deadline": "2026-01-31T12:00:14+00:00"}
    phase = {"name": "joining", "since": NOW.isoformat(), "waiting_for": [waiting], "waiting_count": 3}
    running = {"cause_text": "client-c joined"}
    group = described(member("a", state="joining"), member("b", state="missing"), phase=phase, rebalance=running)
    text = "\n".join(drawn(watching(group)))
    assert "Rebalances: client-c joined" in text
    assert "Waits in joining for client-b (at most 14 s: rebalance) and 2 more" in text
    assert "~~~" in text and "???" in text


def test_who_holds_the_group_up_stands_first():
    members = [member(f"m{number:03}") for number in range(500)]
    members[400]["state"] = "missing"
    lines = drawn(watching(described(*members)), height=30)
    assert len(lines) <= 30 and "client-m400" in lines[4] and any("and 482 more" in line for line in lines)


@pytest.mark.parametrize("width", [40, 80, 200])
def test_it_fits_the_terminal(width):
    members = [member("a" * 200), member("b", client_id="\x1b[31m")]
    happened = event("member_joined", {}, cause_text="long " * 100, member_id="b")
    lines = drawn(watching(described(*members), happened), width=width, group="g" * 300)
    assert max(map(len, lines)) <= max(width, 66) and not any("\x1b" in line for line in lines)


def test_a_group_that_is_not_there_is_said_so():
    assert "shop  ..." in drawn(Watched())[0]
    assert "is not there (yet)" in drawn(watching(None))[0]


def test_a_member_that_left_is_gone():
    lines = drawn(watching(described(member("a"), member("b")), event("member_left", {"members": {"b": None}})))
    assert not any("client-b" in line and "stable" in line for line in lines)


def test_it_tells_what_happened_and_why():
    ended = event("rebalance_completed", {}, rebalance={"duration_ms": 120, "cause_text": "client-b joined."})
    began = event("rebalance_started", {}, cause_text="client-b joined.")
    lines = drawn(watching(described(member("a")), began, event("member_joined", {}, member_id="a"), ended))
    told = [line.strip().partition("Z  ")[2] for line in lines if line.startswith("12:00:00Z")]
    assert told == [
        "rebalance started: client-b joined.",
        "member joined: client-a",
        "rebalance completed in 120 ms: client-b joined.",
    ]


def test_it_says_aloud_when_it_is_cut_off():
    assert drawn(watching(described()), connected=False, age_s=42)[-1].startswith("CUT OFF: this is 42 s old")


def test_silence_grows_with_the_clock():
    line = next(
        one for one in drawn(watching(described(member("a"))), now=NOW + timedelta(seconds=7)) if "client-a" in one
    )
    assert line.split()[-3:] == ["3", "7", "s"] and "silent" in line


def test_a_live_view_has_no_csv(console, capsys):
    assert main(["--server", console.url, "groups", "watch", "g", "-o", "csv"]) == Exit.USAGE


@contextmanager
def console_with_socket(console):
    """A console whose REST part answers the first question, in front of a socket that tells one group."""

    def handler(connection):
        connection.send(json.dumps(snapshot(described(member("a")))))
        with suppress(ConnectionClosed):
            connection.recv()

    console.says("GET", "/api/v1/clusters/", listing())
    with serve(handler, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
        thread.join()


# The two parts of the console listen on two ports here, so the command is told where its socket is.
RUN = """
import sys
import kaas.cli.watch
from kaas.cli.live import Live
from kaas.cli.__main__ import main

kaas.cli.watch.Live = lambda address, token: Live({socket!r} + "/ws/x/", token)
sys.exit(main(["--server", {server!r}, "groups", "watch", "shop", *{words!r}]))
"""


def command(console, socket, *words):
    return [sys.executable, "-c", RUN.format(socket=socket, server=console.url, words=words)]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, TERMINATED)])
def test_the_terminal_is_as_it_was_however_it_ends(console, number, status):
    with console_with_socket(console) as socket:
        ours, theirs = pty.openpty()
        environment = {**os.environ, "TERM": "xterm-256color"}
        run = subprocess.Popen(
            command(console, socket), cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
        )
        os.close(theirs)
        seen = read_until(ours, b"client-a")
        run.send_signal(number)
        seen += read_until(ours, None)
        assert run.wait(PATIENCE_S) == status
        os.close(ours)
    assert seen.count(ENTERED) == seen.count(LEFT) == 1 and seen.rindex(SHOWN) > seen.rindex(HIDDEN)


def read_until(terminal, words):
    """What the terminal was sent, until these words came, or until its other end was closed."""
    seen, deadline = b"", time.monotonic() + PATIENCE_S
    while words is None or words not in seen:
        assert time.monotonic() < deadline, seen
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                seen += os.read(terminal, 65_536)
            except OSError:
                return seen
    return seen


def test_into_a_pipe_it_prints_messages_as_lines(console):
    with console_with_socket(console) as socket:
        run = subprocess.Popen(command(console, socket, "-o", "json"), cwd=ROOT, stdout=subprocess.PIPE)
        assert json.loads(run.stdout.readline())["type"] == "snapshot"
        run.send_signal(signal.SIGINT)
        assert run.wait(PATIENCE_S) == Exit.INTERRUPTED
        run.stdout.close()
