"""`python -m kaas.broker.users`: who may sign in."""

import io
import subprocess
import sys

import pytest

from kaas.broker import users
from kaas.broker.security import credentials
from kaas.broker.security.scram import fits
from kaas.broker.users import ask_password, main
from kaas.storage.files import CLUSTER_FOLDER
from tests.support.broker import ROOT

QUICKLY = ("--iterations", "4096")


@pytest.fixture
def data(tmp_path):
    return ("--data", str(tmp_path))


@pytest.fixture
def says(monkeypatch):
    """Puts a line on standard input."""
    return lambda text: monkeypatch.setattr(sys, "stdin", io.StringIO(text))


def keys(folder, name):
    return credentials.read(folder / CLUSTER_FOLDER / credentials.FILE_NAME)[name]["SCRAM-SHA-512"]


def test_users_come_change_and_go(tmp_path, data, says, capsys):
    says("secret\n")
    assert main(["add", "alice", *data, *QUICKLY]) == 0
    says("pa ss\n")
    assert main(["add", "Bob Ö", *data, *QUICKLY]) == 0
    assert fits("SCRAM-SHA-512", "pa ss", keys(tmp_path, "Bob Ö"))
    says("other")
    assert main(["password", "alice", *data, *QUICKLY]) == 0
    assert fits("SCRAM-SHA-512", "other", keys(tmp_path, "alice"))
    assert main(["list", *data]) == 0
    assert capsys.readouterr().out == "Bob Ö\nalice\n"
    assert main(["remove", "alice", *data]) == 0
    main(["list", *data])
    assert capsys.readouterr().out == "Bob Ö\n"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["remove", "nobody"], "there is no user 'nobody'"),
        (["password", "nobody", *QUICKLY], "there is no user 'nobody'"),
        (["add", "alice", "--iterations", "10"], "4096 iterations or more"),
        (["add", "", *QUICKLY], "cannot be a user's name"),
    ],
)
def test_what_cannot_be_is_one_line_and_a_status(data, says, capsys, command, words):
    says("secret\n")
    assert main([*command, *data]) == 1
    told = capsys.readouterr().err
    assert words in told and told.count("\n") == 1 and "secret" not in told


def test_a_password_from_a_terminal_is_asked_for_twice(monkeypatch):
    monkeypatch.setattr(users.sys.stdin, "isatty", lambda: True, raising=False)
    assert ask_password(lambda prompt: "secret") == "secret"
    with pytest.raises(credentials.BadUser, match="differ"):
        ask_password(lambda prompt: prompt)


def test_it_runs_as_a_command(tmp_path, data):
    command = [sys.executable, "-m", "kaas.broker.users", "add", "alice", *data, *QUICKLY]
    ended = subprocess.run(command, cwd=ROOT, input="secret\n", capture_output=True, text=True, timeout=30)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert fits("SCRAM-SHA-512", "secret", keys(tmp_path, "alice"))
