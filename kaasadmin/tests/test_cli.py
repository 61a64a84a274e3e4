"""kaas.cli against the console's own API, over HTTP."""

from __future__ import annotations

import json

import pytest

from groups.alerts.evaluation import alerts_evaluate
from groups.history import history_write
from groups.testing.feed import last_rebalance, member_view, rebalance_record
from kaas.cli.__main__ import main
from kaas.cli.exits import Exit

NASTY = "\x1b[31m=1+1 é/..‮"


class Shell:
    """Somebody at a command line. `ends` is the last exit status, `told` what stood on standard error."""

    def __init__(self, url, token, capsys):
        self.options = ["--server", url, "--token", token]
        self.capsys = capsys

    def __call__(self, *words, ends=Exit.DONE):
        assert main([*self.options, *words]) == ends, self.capsys.readouterr()
        printed = self.capsys.readouterr()
        self.told = printed.err
        return printed.out

    def json(self, *words, ends=Exit.DONE):
        return json.loads(self(*words, "--output", "json", ends=ends))


@pytest.fixture
def shell(live_server, world, api, capsys):
    world.topic("orders", 10, 10)
    shop = [member_view("one-1", {"orders": [0]}), member_view("two-1", {"orders": [1]})]
    world.group("shop", {("orders", 0): 4}, members=shop, last_rebalance=last_rebalance())
    world.group("idle", {("orders", 0): 4, ("orders", 1): 10})
    world.group(NASTY, {("orders", 0): 4})
    world.feed.event("shop", "rebalance_completed", rebalance=rebalance_record())
    history_write("local")
    world.read()
    return Shell(live_server.url, api.token, capsys)


def offsets(world, group="idle"):
    return {place: held.offset for place, held in world.gateway.groups[group].offsets.items()}


def test_it_lists_groups(shell):
    table = shell("groups", "list")
    assert table.splitlines()[0].split()[:3] == ["GROUP", "STATE", "TYPE"]
    assert any(line.split()[:2] == ["shop", "Stable"] for line in table.splitlines())
    assert [row["group_id"] for row in shell.json("groups", "list", "--state", "Stable")["items"]] == ["shop"]
    assert shell("groups", "list", "--search", "idle", "-o", "csv").splitlines()[1].startswith("idle,Empty,simple,0,6,")


def test_a_list_of_several_pages_is_whole(shell, world, monkeypatch):
    monkeypatch.setattr("kaas.cli.rest.PAGE_SIZE", 2)
    for number in range(5):
        world.group(f"many-{number}", {("orders", 0): 1})
    world.read()
    assert len(shell.json("groups", "list", "--search", "many")["items"]) == 5
    few = shell.json("groups", "list", "--search", "many", "--limit", "3")
    assert (len(few["items"]), few["total"]) == (3, 5)


def test_it_describes_a_group(shell):
    text = shell("groups", "describe", "shop")
    assert "Members" in text and "one-1" in text and "orders:0" in text and "lagging" in text
    assert shell.json("groups", "describe", "shop")["group_id"] == "shop"


@pytest.mark.parametrize("command", ["members", "offsets", "rebalances", "lag"])
@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_every_part_of_a_group_is_shown_in_every_format(shell, command, form):
    printed = shell("groups", command, "shop", "-o", form)
    assert printed.strip()
    if form == "json":
        assert "items" in json.loads(printed)


@pytest.mark.parametrize("command", [["clusters"], ["brokers"], ["topics"], ["topics", "orders"], ["audit"]])
@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_lists_beside_groups_are_shown_in_every_format(shell, command, form):
    printed = shell(*command, "--output", form)
    assert len(printed.splitlines()) > 1 or command == ["audit"]


def test_an_id_of_any_characters_works_and_commands_nothing(shell):
    table = shell("groups", "list", "--search", "=1+1")
    assert "\x1b" not in table and "‮" not in table and "\\u001b[31m=1+1 é/..\\u202e" in table
    assert shell.json("groups", "describe", NASTY)["group_id"] == NASTY
    assert "\x1b" not in shell("groups", "list", "-o", "json")
    shell("groups", "describe", "none\x1b[31m", ends=Exit.NOT_FOUND)
    assert "\x1b" not in shell.told


def test_a_reset_shows_its_plan_and_writes_it(shell, world):
    table = shell("groups", "reset", "idle", "--to-earliest", "--all-topics", "--yes")
    assert "read back".upper() in table and "Outcome: applied" in table
    assert offsets(world) == {("orders", 0): 0, ("orders", 1): 0}
    shell("groups", "undo", "idle", "--yes")
    assert offsets(world) == {("orders", 0): 4, ("orders", 1): 10}


def test_undo_lists_what_there_is_and_takes_the_one_that_is_named(shell, world):
    shell("groups", "reset", "idle", "--to-earliest", "--topic", "orders:0", "--yes")
    shell("groups", "reset", "idle", "--to-latest", "--topic", "orders:1", "--yes")
    newer, older = shell.json("groups", "undo", "idle", "--list")["items"]
    shell("groups", "undo", "idle", "--id", older["id"], "--yes")
    assert offsets(world)["orders", 0] == 4
    assert [row["id"] for row in shell.json("groups", "undo", "idle", "--list")["items"]] == [newer["id"]]


def test_a_dry_run_writes_nothing(shell, world):
    plan = shell.json("groups", "reset", "idle", "--shift-by", "-2", "--topic", "orders:1", "--dry-run")
    assert [(item["partition"], item["before"], item["after"]) for item in plan["items"]] == [(1, 10, 8)]
    shell("groups", "delete", "idle", "--dry-run")
    shell("groups", "delete-offsets", "idle", "--topic", "orders", "--dry-run")
    shell("groups", "remove-member", "shop", "one-1", "--dry-run")
    assert offsets(world) == {("orders", 0): 4, ("orders", 1): 10} and "one-1" in world.gateway.groups["shop"].members


@pytest.mark.parametrize(
    ("options", "after"),
    [
        (["--to-latest"], 10),
        (["--to-offset", "7"], 7),
        (["--to-current"], 4),
        (["--from-group", "shop"], 4),
        (["--to-datetime", "2030-01-01T00:00:00"], 10),
        (["--by-duration", "PT1H"], 10),
    ],
)
def test_every_strategy_plans(shell, options, after):
    plan = shell.json("groups", "reset", "idle", *options, "--topic", "orders:0", "--dry-run")
    assert [item["after"] for item in plan["items"]] == [after]


def test_a_file_of_offsets_is_a_strategy(shell, tmp_path):
    (tmp_path / "plan.csv").write_text("orders,0,2\n")
    plan = shell.json("groups", "reset", "idle", "--from-file", str(tmp_path / "plan.csv"), "--all-topics", "--dry-run")
    assert [item["after"] for item in plan["items"]] == [2]


def test_a_live_group_is_not_reset_but_its_reset_can_be_armed(shell, world):
    shell("groups", "reset", "shop", "--to-latest", "--all-topics", "--yes", ends=Exit.REFUSED)
    assert "2 live members (one, two)" in shell.told
    shell("groups", "reset", "shop", "--to-latest", "--all-topics", "--arm", "--yes")
    assert shell.json("groups", "describe", "shop")["armed_reset"] is not None
    assert offsets(world, "shop") == {("orders", 0): 4}


def test_nothing_is_written_where_nobody_can_be_asked(shell, world):
    for command in (
        ["reset", "idle", "--to-earliest", "--all-topics"],
        ["delete", "idle"],
        ["delete-offsets", "idle", "--topic", "orders"],
        ["remove-member", "shop", "one-1"],
    ):
        shell("groups", *command, ends=Exit.USAGE)
        assert "--yes" in shell.told
    assert offsets(world) == {("orders", 0): 4, ("orders", 1): 10}


def test_groups_are_deleted_and_what_could_not_be_is_told(shell, world):
    shell("groups", "delete", "idle", "shop", "--yes", ends=Exit.PARTLY)
    assert "shop: The group is Stable" in shell.told and set(world.gateway.groups) == {"shop", NASTY}
    shell("groups", "delete", "shop", "--yes", ends=Exit.REFUSED)
    shell("groups", "delete", "nowhere", "--yes", ends=Exit.NOT_FOUND)


def test_offsets_of_a_topic_are_deleted(shell, world):
    shell("groups", "delete-offsets", "idle", "--topic", "orders:1", "--yes")
    assert offsets(world) == {("orders", 0): 4}


def test_a_member_is_removed(shell, world):
    assert shell.json("groups", "remove-member", "shop", "one-1", "--reason", "stuck", "--yes")["removed"] is True
    assert list(world.gateway.groups["shop"].members) == ["two-1"]


def test_tokens_are_made_and_revoked(shell):
    made = shell.json("tokens", "create", "script", "--role", "operate", "--groups", "shop*")
    assert (made["role"], made["group_pattern"]) == ("operate", "shop*") and made["token"].startswith("kaas_")
    assert str(made["id"]) in shell("tokens", "list")
    shell("tokens", "revoke", str(made["id"]), "--yes")
    shell("tokens", "revoke", str(made["id"]), "--yes", ends=Exit.NOT_FOUND)
    assert [row["action"] for row in shell.json("audit", "--limit", "2")["items"]] == ["token_delete", "token_create"]


def test_a_token_that_may_not_is_refused_with_the_reason(shell, make_caller, live_server, capsys):
    reader = Shell(live_server.url, make_caller("read", name="ann").token, capsys)
    reader("groups", "list")
    reader("groups", "delete", "idle", "--yes", ends=Exit.REFUSED)
    assert "needs the right to operate" in reader.told
    nobody = Shell(live_server.url, "kaas_wrong", capsys)
    assert nobody("groups", "list", "-o", "json", ends=Exit.REFUSED) == ""
    assert json.loads(nobody.told)["kind"] == "unauthenticated"


def test_alerts_are_listed_and_scripts_can_ask_whether_one_fires(shell, api):
    shell("alerts", "--fail-if-firing")
    api("POST", "/api/v1/alerts/rules/", {"name": "late", "kind": "lag", "threshold": 5}, expect=201)
    alerts_evaluate("local")
    table = shell("alerts", "--state", "firing")
    assert "late" in table and "idle" in table
    shell("alerts", "--fail-if-firing", "-o", "csv", ends=Exit.REFUSED)
    assert "3 alerts fire" in shell.told
    shell("alerts", "--fail-if-firing", "--group", "nobody")


def test_an_unknown_cluster_is_not_found(shell):
    shell("groups", "list", "--cluster", "nowhere", ends=Exit.NOT_FOUND)
    shell("groups", "describe", "nowhere", ends=Exit.NOT_FOUND)
