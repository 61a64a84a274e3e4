"""kaas.cli.clusters. kaasadmin/tests/test_cli.py runs the commands against a console."""

from __future__ import annotations

from kaas.cli.__main__ import main
from kaas.cli.exits import Exit
from tests.cli.conftest import listing

TOPIC = {"topic": "orders", "partition_count": 2, "group_count": 1, "internal": False, "known": False}


def test_topics_are_listed(console, capsys):
    console.says("GET", "/api/v1/clusters/local/topics/", listing(TOPIC))
    assert main(["--server", console.url, "topics"]) == Exit.DONE
    assert capsys.readouterr().out.splitlines()[1].split() == ["orders", "2", "1", "no", "no"]


def test_a_topic_of_any_name_is_one_segment(console):
    console.says("GET", "/api/v1/clusters/local/topics/a%2Fb/groups/", listing())
    assert main(["--server", console.url, "topics", "a/b"]) == Exit.DONE
