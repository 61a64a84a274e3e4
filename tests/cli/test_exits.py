"""kaas.cli.exits."""

from __future__ import annotations

from kaas.cli.exits import Exit


def test_every_status_says_what_it_means():
    assert all(status.meaning.endswith(".") for status in Exit)


def test_statuses_are_those_that_scripts_were_told():
    assert {status.name: int(status) for status in Exit} == {
        "DONE": 0,
        "REFUSED": 1,
        "USAGE": 2,
        "UNREACHABLE": 3,
        "NOT_FOUND": 4,
        "PARTLY": 5,
        "INTERRUPTED": 130,
    }
