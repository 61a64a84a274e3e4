"""offsets.command."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from offsets.command import reset_command
from offsets.requests import reset_request

TOPIC = {"topics": [{"topic": "orders", "partitions": [0, 2]}, {"topic": "bills"}]}


def command(strategy, value=None, scope=None, group_id="shop"):
    request = reset_request({"strategy": strategy, "value": value, "scope": scope or {"all": True}})
    return reset_command(bootstrap="127.0.0.1:9092", group_id=group_id, request=request)


@pytest.mark.parametrize(
    ("strategy", "value", "words"),
    [
        ("earliest", None, "--to-earliest --all-topics"),
        ("latest", None, "--to-latest --all-topics"),
        ("current", None, "--to-current --all-topics"),
        ("offset", 3, "--to-offset 3 --all-topics"),
        ("shift", -5, "--shift-by -5 --all-topics"),
        ("timestamp", "2026-01-01T02:00:00+02:00", "--to-datetime 2026-01-01T00:00:00.000+00:00 --all-topics"),
        ("duration", "PT1H", "--by-duration PT1H --all-topics"),
        ("csv", "orders,0,7", "--from-file offsets.csv"),
        ("group", "other", "--from-file offsets.csv"),
    ],
)
def test_each_strategy_has_its_words(strategy, value, words):
    expected = f"kafka-consumer-groups --bootstrap-server 127.0.0.1:9092 --group shop --reset-offsets {words} --execute"
    assert command(strategy, value) == expected


def test_a_scope_names_topics_and_partitions():
    assert " --topic bills --topic orders:0,2 --execute" in command("earliest", scope=TOPIC)


@pytest.mark.parametrize("group_id", ["a b", "$(reboot)", "'; reboot", "é 😀", ""])
def test_every_word_is_safe_in_a_shell(group_id):
    words = shlex.split(command("earliest", group_id=group_id))
    assert words[words.index("--group") + 1] == group_id


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
@example("\x1b[201~\nreboot\n")
@example("it's \\ \u202egnp\u2066 ab\r1")
def test_no_word_holds_what_a_terminal_would_obey(group_id):
    line = command("earliest", group_id=group_id)
    assert line.isprintable()
    word = line.split(" --group ")[1].split(" --reset-offsets")[0]
    assert subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True).stdout == group_id.encode()
