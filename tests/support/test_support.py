"""What tests lean on is tested too."""

import os
import socket

import pytest

from tests.support import runs
from tests.support.broker import answers
from tests.support.held import HeldClock, HeldLoop, HeldTransport
from tests.support.ports import free_port, free_ports
from tests.support.require import REQUIRE_ALL, lacking, require
from tests.support.waiting import until, until_async

MISSING = "no-program-is-called-like-this"


def test_a_program_that_is_there_is_no_reason_to_skip():
    require("sh")


def test_a_missing_program_skips_with_the_reason(monkeypatch):
    monkeypatch.delenv(REQUIRE_ALL, raising=False)
    with pytest.raises(pytest.skip.Exception, match=f"{MISSING} not found"):
        require("sh", MISSING)


def test_where_everything_is_required_a_missing_program_fails(monkeypatch):
    monkeypatch.setenv(REQUIRE_ALL, "1")
    with pytest.raises(pytest.fail.Exception, match=MISSING):
        require(MISSING)
    with pytest.raises(pytest.fail.Exception, match="a reason"):
        lacking("a reason")


def test_free_ports_differ_and_can_be_bound():
    ports = free_ports(5)
    assert len(set(ports)) == 5
    with socket.socket() as one:
        one.bind(("127.0.0.1", free_port()))


def test_waiting_gives_what_the_condition_gave():
    seen = iter([0, "", "there"])
    assert until(lambda: next(seen), every_s=0) == "there"


async def test_waiting_ends_at_its_deadline():
    with pytest.raises(AssertionError, match="still 0"):
        until(lambda: 0, within_s=0)
    with pytest.raises(AssertionError, match="still None"):
        await until_async(lambda: None, within_s=0)


def test_nobody_answers_on_a_port_without_a_broker():
    assert not answers("127.0.0.1", free_port())


def test_a_run_has_one_folder_and_its_maker_removes_it(monkeypatch):
    monkeypatch.setenv(runs.VARIABLE, "set by the process above")
    assert not runs.begin()
    monkeypatch.delenv(runs.VARIABLE)
    assert runs.begin() and not runs.begin()
    folder = runs.run_folder()
    assert folder.is_dir()
    runs.end()
    assert not folder.exists() and runs.VARIABLE not in os.environ


def test_held_callbacks_come_when_they_are_due_and_in_order():
    loop, called = HeldLoop(HeldClock(0)), []
    loop.call_later(0.2, called.append, "late")
    loop.call_later(0.1, called.append, "soon")
    loop.call_later(0.1, called.append, "never").cancel()
    loop.passes(99)
    assert called == []
    loop.passes(200)
    assert called == ["soon", "late"] and loop.clock.now_ms() == 299


def test_a_held_transport_takes_nothing_after_it_was_closed():
    transport = HeldTransport("10.0.0.1")
    transport.write(b"one")
    transport.close()
    assert transport.written == [b"one"] and transport.get_extra_info("peername")[0] == "10.0.0.1"
    with pytest.raises(AssertionError):
        transport.write(b"two")
