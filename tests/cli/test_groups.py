"""kaas.cli.groups: what its rows are made of. kaasadmin/tests/test_cli.py runs the commands against a console."""

from __future__ import annotations

import json

import pytest

from kaas.cli.__main__ import main
from kaas.cli.exits import Exit, Failed
from kaas.cli.groups import assignment_words, number_of, partly
from tests.cli.conftest import PROBLEM, listing


def test_an_assignment_in_words():
    parts = [{"topic": "orders", "partitions": [0, 1]}, {"topic": "mail", "partitions": [3]}]
    assert assignment_words({"assignment": parts}) == "orders:0,1 mail:3"
    assert assignment_words({"assignment": []}) is None
    assert assignment_words({"assignment": None, "assignment_raw": "AAE="}) == "AAE="


def test_a_large_number_is_exact():
    assert number_of("lag")({"lag": 9007199254740992.0, "lag_str": "9007199254740993"}) == 9007199254740993
    assert number_of("lag")({"lag": 3}) == 3 and number_of("lag")({"lag": None}) is None


def test_an_answer_that_is_not_whole_ends_as_partly():
    partly([])
    with pytest.raises(Failed) as failed:
        partly([{"message": "One."}, {"message": "Two."}])
    assert failed.value.status == Exit.PARTLY and str(failed.value) == "One. Two."


def test_what_there_is_is_printed_though_a_part_is_missing(console, capsys):
    console.says("GET", "/api/v1/clusters/local/groups/", listing(errors=[PROBLEM]))
    assert main(["--server", console.url, "groups", "list", "-o", "json"]) == Exit.PARTLY
    printed = capsys.readouterr()
    assert json.loads(printed.out)["errors"] == [PROBLEM] and printed.err == "kaas: No.\n"


def test_filters_travel_as_the_api_takes_them(console):
    console.says("GET", "/api/v1/clusters/c%2Fd/groups/", listing())
    words = ["--state", "Stable", "--state", "Empty", "--type", "classic", "--min-lag", "0", "--topic", "a&b"]
    assert main(["--server", console.url, "groups", "list", *words, "--cluster", "c/d"]) == Exit.DONE
    query = "min_lag=0&page=1&page_size=1000&state=Empty&state=Stable&topic=a%26b&type=classic"
    assert sorted(console.asked[0]["query"].split("&")) == query.split("&")
