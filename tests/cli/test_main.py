"""`python -m kaas.cli`: how commands end."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from kaas.cli.__main__ import main
from kaas.cli.exits import Exit
from tests.cli.conftest import PROBLEM, listing
from tests.support.broker import ROOT
from tests.support.ports import free_port


@pytest.mark.parametrize("words", [["nonsense"], ["groups", "nonsense"], ["groups", "list", "--nonsense"], ["groups"]])
def test_a_command_that_is_none_is_a_usage_error(words, capsys):
    assert main(words) == Exit.USAGE
    assert capsys.readouterr().err


@pytest.mark.parametrize("words", [["--help"], ["groups", "-h"], ["groups", "reset", "--help"]])
def test_help_is_done(words, capsys):
    assert main(words) == Exit.DONE and "Usage: kaas" in capsys.readouterr().out


def test_a_failure_is_one_sentence(console, capsys):
    assert main(["--server", console.url, "clusters"]) == Exit.NOT_FOUND
    assert capsys.readouterr() == ("", "kaas: No.\n")


def test_a_failure_as_json_is_the_error_object(console, capsys):
    assert main(["--server", console.url, "clusters", "-o", "json"]) == Exit.NOT_FOUND
    printed = capsys.readouterr()
    assert printed.out == "" and json.loads(printed.err) == PROBLEM


def test_nobody_there_is_a_status_of_its_own(capsys):
    assert main(["--server", f"http://127.0.0.1:{free_port()}", "clusters"]) == Exit.UNREACHABLE


def test_ctrl_c_has_a_status_of_its_own(monkeypatch, console):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("kaas.cli.rest.Rest.ask", interrupted)
    assert main(["--server", console.url, "clusters"]) == Exit.INTERRUPTED


def test_a_reader_that_has_enough_is_no_failure(console):
    rows = [{"name": f"cluster-{number}", "bootstrap": "x" * 100} for number in range(2_000)]
    console.says("GET", "/api/v1/clusters/", listing(*rows))
    command = f"{sys.executable} -m kaas.cli clusters | head -n 1"
    environment = {**os.environ, "KAAS_URL": console.url}
    ended = subprocess.run(command, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.stdout.startswith("CLUSTER") and ended.stderr == ""
