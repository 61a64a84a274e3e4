"""kaas.cli.writes: what is asked and what is sent. kaasadmin/tests/test_cli.py runs the commands against a console."""

from __future__ import annotations

import io

import pytest

from kaas.cli.__main__ import main
from kaas.cli.exits import Exit, Failed
from kaas.cli.writes import agreed, scope_of, strategy_of
from tests.cli.conftest import PROBLEM

FLAGS, VALUES = ("to_earliest", "to_latest", "to_current"), ("to_offset", "to_datetime", "by_duration", "shift_by")
NOTHING = {**dict.fromkeys(FLAGS, False), **dict.fromkeys((*VALUES, "from_file", "from_group"))}
PLAN = {"id": "p", "items": [], "applicable": True, "reason": None}


def test_topics_and_partitions():
    assert scope_of(["a", "b:0,12"]) == [{"topic": "a"}, {"topic": "b", "partitions": [0, 12]}]


@pytest.mark.parametrize("text", ["a:", "a:x", "a:1,", ":1", "", "a:-1"])
def test_what_is_no_topic_is_a_usage_error(text):
    with pytest.raises(Failed) as failed:
        scope_of([text])
    assert failed.value.status == Exit.USAGE


@pytest.mark.parametrize(
    ("given", "strategy"),
    [
        ({"to_earliest": True}, ("earliest", None)),
        ({"to_offset": 0}, ("offset", 0)),
        ({"shift_by": -3}, ("shift", -3)),
        ({"to_datetime": "2026-01-31T12:00:00Z"}, ("timestamp", "2026-01-31T12:00:00+00:00")),
        ({"from_file": io.StringIO("a,0,1\n")}, ("csv", "a,0,1\n")),
        ({"from_group": ""}, ("group", "")),
    ],
)
def test_options_as_a_strategy(given, strategy):
    assert strategy_of({**NOTHING, **given}) == strategy


def test_a_moment_without_a_zone_is_local_time():
    assert strategy_of({**NOTHING, "to_datetime": "2026-01-31T12:00:00"})[1][19] in "+-"


@pytest.mark.parametrize("given", [{}, {"to_offset": 1, "to_latest": True}, {"to_datetime": "yesterday"}])
def test_no_strategy_or_two_are_a_usage_error(given):
    with pytest.raises(Failed) as failed:
        strategy_of({**NOTHING, **given})
    assert failed.value.status == Exit.USAGE


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_it_asks_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", Terminal("y\nn\n"))
    agreed("Sure?", False)
    with pytest.raises(Failed) as failed:
        agreed("Sure?", False)
    assert failed.value.status == Exit.REFUSED and "Sure? [y/N]" in capsys.readouterr().err


def test_it_does_not_ask_where_nobody_is(monkeypatch):
    agreed("Sure?", True)
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(Failed) as failed:
        agreed("Sure?", False)
    assert failed.value.status == Exit.USAGE


def reset(console, *words):
    return main(["--server", console.url, "groups", "reset", "g", *words])


@pytest.mark.parametrize("words", [["--to-latest"], ["--to-latest", "--all-topics", "--topic", "a"], ["--all-topics"]])
def test_a_reset_says_where_to_and_which_topics(console, words):
    assert reset(console, *words, "--yes") == Exit.USAGE and not console.asked


def test_no_is_no(console, monkeypatch):
    console.says("POST", "/api/v1/clusters/local/groups/g/reset-plans/", PLAN, 201)
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert reset(console, "--to-latest", "--all-topics") == Exit.REFUSED
    assert [asked["path"][-6:] for asked in console.asked] == ["plans/"]


def test_a_reset_of_which_a_part_was_written_says_so(console, capsys):
    row = {"topic": "a", "partition": 0, "before": 1, "after": 2, "read_back": None, "error": PROBLEM}
    console.says("POST", "/api/v1/clusters/local/groups/g/reset-plans/", {**PLAN, "items": [row]}, 201)
    console.says("POST", "/api/v1/clusters/local/groups/g/reset-plans/p/apply/", {"outcome": "partly", "items": [row]})
    assert reset(console, "--to-latest", "--all-topics", "--yes") == Exit.PARTLY
    assert "No." in capsys.readouterr().out


def test_a_plan_of_another_moment_is_refused(console, capsys):
    console.says("POST", "/api/v1/clusters/local/groups/g/reset-plans/", PLAN, 201)
    console.says("POST", "/api/v1/clusters/local/groups/g/reset-plans/p/apply/", PROBLEM, 409)
    assert reset(console, "--to-latest", "--all-topics", "--yes") == Exit.REFUSED
    assert capsys.readouterr().err == "kaas: No.\n"
