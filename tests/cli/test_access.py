"""kaas.cli.access. kaasadmin/tests/test_cli.py runs the commands against a console."""

from __future__ import annotations

from kaas.cli.__main__ import main
from kaas.cli.exits import Exit
from tests.cli.conftest import listing


def test_a_token_is_asked_for_with_all_that_limits_it(console, capsys):
    console.says("POST", "/api/v1/tokens/", {"id": 7, "name": "n", "token": "kaas_x"}, 201)
    words = ["--role", "operate", "--clusters", "c*", "--groups", "g*", "--expires-at", "2027-01-01T00:00:00Z"]
    assert main(["--server", console.url, "tokens", "create", "n", *words]) == Exit.DONE
    assert console.asked[0]["body"] == {
        "name": "n",
        "role": "operate",
        "cluster": "c*",
        "group_pattern": "g*",
        "expires_at": "2027-01-01T00:00:00Z",
    }
    assert "kaas_x" in capsys.readouterr().out


def test_a_dry_run_is_told_to_the_console(console):
    console.says("POST", "/api/v1/tokens/", {"id": None, "token": None})
    assert main(["--server", console.url, "tokens", "create", "n", "--dry-run"]) == Exit.DONE
    assert console.asked[0]["query"] == "dry_run=true"


def test_audit_rows_of_one_group_also_of_the_empty_one(console):
    console.says("GET", "/api/v1/audit/", listing())
    assert main(["--server", console.url, "audit", "--group", "g", "--limit", "5"]) == Exit.DONE
    assert sorted(console.asked[0]["query"].split("&")) == ["group_id=g", "page=1", "page_size=5"]
    main(["--server", console.url, "audit", "--group", ""])
    assert "group_id=" in console.asked[1]["query"].split("&")
