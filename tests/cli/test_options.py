"""kaas.cli.options."""

from __future__ import annotations

import click
import pytest

from kaas.cli.exits import Failed
from kaas.cli.options import Said, everywhere

DEFAULTS = ("http://127.0.0.1:8000", "", "local", "table")


@click.group()
@everywhere
def root(said):
    """The root."""


@root.group()
def inside():
    """A group between."""


@inside.command()
@click.argument("word")
@everywhere
def leaf(said, word):
    """A command."""
    assert word == "w"
    seen.append((said.server, said.token, said.cluster, said.output))


seen: list = []


def run(*words):
    root.main(args=list(words), standalone_mode=False)
    return seen.pop()


@pytest.fixture(autouse=True)
def no_environment(monkeypatch):
    for name in ("KAAS_URL", "KAAS_TOKEN", "KAAS_CLUSTER"):
        monkeypatch.delenv(name, raising=False)


def test_what_nobody_says_has_a_default():
    assert run("inside", "leaf", "w") == DEFAULTS


def test_options_stand_before_or_after_the_command():
    assert run("--cluster", "c", "inside", "leaf", "w", "-o", "json")[2:] == ("c", "json")


def test_what_stands_last_wins():
    assert run("--cluster", "c", "inside", "leaf", "w", "--cluster", "d")[2] == "d"


def test_the_environment_stands_in_for_what_is_not_said(monkeypatch):
    monkeypatch.setenv("KAAS_CLUSTER", "e")
    monkeypatch.setenv("KAAS_TOKEN", "t")
    assert run("inside", "leaf", "w")[1:3] == ("t", "e")
    assert run("--cluster", "c", "inside", "leaf", "w")[2] == "c"
    assert run("inside", "leaf", "w", "--cluster", "d")[2] == "d"


def test_a_format_that_is_none_is_a_usage_error():
    with pytest.raises(click.UsageError):
        run("inside", "leaf", "w", "-o", "xml")


def test_addresses():
    said = Said(cluster="a/b")
    assert said.of_group("x/y", "offsets/") == "clusters/a%2Fb/groups/~eC95/offsets/"
    with pytest.raises(Failed):
        said.of_group("\udcff")
