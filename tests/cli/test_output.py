"""kaas.cli.output."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.cli.output import Column, Output, visible, words

COLUMNS = (
    Column("group", "id"),
    Column("lag", number=True),
    Column("read only"),
    Column("parts", lambda row: row["p"]),
)
ROWS = [
    {"id": "a" * 300, "lag": 12, "read_only": True, "p": ["x", 1]},
    {"id": "=1+1", "lag": None, "read_only": False, "p": []},
]


def printed(capsys, form, rows=ROWS, terminal=False, width=80):
    output = Output(form)
    if terminal:
        output.screen._force_terminal = True
        output.screen.width = width
    output.rows({"items": rows}, rows, COLUMNS)
    return capsys.readouterr().out


def test_into_a_pipe_nothing_is_cut_and_nothing_is_coloured(capsys):
    head, first, second = printed(capsys, "table").splitlines()
    assert head.split() == ["GROUP", "LAG", "READ", "ONLY", "PARTS"]
    assert first.split() == ["a" * 300, "12", "yes", "x,", "1"] and second.split()[:3] == ["=1+1", "-", "no"]
    assert "\x1b" not in first


@pytest.mark.parametrize("width", [40, 80, 200])
def test_on_a_terminal_a_table_fits(capsys, monkeypatch, width):
    monkeypatch.setenv("NO_COLOR", "1")
    lines = printed(capsys, "table", terminal=True, width=width).splitlines()
    plain = [line.replace("\x1b[1m", "").replace("\x1b[0m", "") for line in lines]
    assert max(map(len, plain)) <= width and sum(line.count("a") for line in plain[1:]) >= 300  # ids are never cut


def test_json_is_what_the_api_answered(capsys):
    assert json.loads(printed(capsys, "json")) == {"items": ROWS}


def test_csv_has_numbers_as_numbers_and_no_formulas(capsys):
    head, first, second = csv.reader(io.StringIO(printed(capsys, "csv")))
    assert head == ["group", "lag", "read_only", "parts"]
    assert first == ["a" * 300, "12", "yes", "x, 1"] and second == ["'=1+1", "", "no", ""]


def test_an_empty_list_is_a_heading(capsys):
    assert printed(capsys, "table", []).split() == ["GROUP", "LAG", "READ", "ONLY", "PARTS"]


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left(text):
    shown = visible(text)
    assert shown.isprintable() or not any(ord(mark) < 0x20 or 0x7F <= ord(mark) < 0xA0 for mark in shown)
    assert visible(shown) == shown


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_with_escapes_says_the_same(text):
    assert json.loads(visible(json.dumps(text, ensure_ascii=False))) == text


@pytest.mark.parametrize(("value", "shown"), [(None, "-"), (True, "yes"), (0, "0"), ([], ""), (["a", None], "a, -")])
def test_values_in_words(value, shown):
    assert words(value) == shown


def test_markup_is_text(capsys):
    assert "[red]x[/red]" in printed(capsys, "table", [{**ROWS[0], "id": "[red]x[/red]"}])


def test_facts_stand_in_tables_only(capsys):
    Output("json").facts({"State": "Stable"})
    Output().facts({"State": "Stable", "Longer name": None})
    assert capsys.readouterr().out == "State        Stable\nLonger name  -\n"


def test_sentences_go_to_standard_error(capsys):
    Output().say("a\x1bb")
    assert capsys.readouterr() == ("", "a\\u001bb\n")
