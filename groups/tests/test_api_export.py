"""GET …/groups/?format=csv and ?format=jsonl."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.test import AsyncClient

from groups.api.export import safe_cell
from groups.testing.feed import last_rebalance
from groups.testing.fixtures import CLUSTER

GROUPS = f"{CLUSTER}/groups/"


async def exported(api, query="", **headers):
    """The rows of an export, and its headers."""
    client = AsyncClient()
    response = await client.get(f"{GROUPS}?{query}", headers={"Authorization": f"Bearer {api.token}", **headers})
    assert response.status_code == 200
    chunks = [chunk async for chunk in response.streaming_content]
    return list(csv.DictReader(io.StringIO(b"".join(chunks).decode()))), response


@pytest.fixture
def listed(async_db, world):
    world.topic("orders", 10, 10)
    world.group("shop", {("orders", 0): 10, ("orders", 1): 4}, last_rebalance=last_rebalance())
    for group_id in ("=1+1", '"quoted", comma', "@cmd", "-2", "new\nline"):
        world.group(group_id)
    world.read()


async def test_it_works(api, listed):
    """Exports lacked partitions, or had no lag.

    https://github.com/kafbat/kafka-ui/issues/1993
    https://github.com/kafbat/kafka-ui/issues/1989
    """
    rows, response = await exported(api, "format=csv&search=shop")
    assert response["Content-Type"].startswith("text/csv") and "groups-local.csv" in response["Content-Disposition"]
    assert [(row["partition"], row["committed"], row["lag"], row["lag_state"]) for row in rows] == [
        ("0", "10", "0", "caught_up"),
        ("1", "4", "6", "lagging"),
    ]
    assert rows[0]["total_lag"] == "6" and rows[0]["last_rebalance_cause"] == "two joined."


async def test_it_carries_every_id_and_no_formula(api, listed):
    rows, _ = await exported(api, "format=csv&page_size=2")
    assert {row["group_id"] for row in rows} == {
        "shop",
        "'=1+1",
        '"quoted", comma',
        "'@cmd",
        "'-2",
        "new\nline",
    }


async def lines(api, query=""):
    """The groups of an export as JSON lines, and its headers."""
    response = await AsyncClient().get(f"{GROUPS}?{query}", headers={"Authorization": f"Bearer {api.token}"})
    assert response.status_code == 200
    body = b"".join([chunk async for chunk in response.streaming_content])
    return [json.loads(line) for line in body.splitlines()], response


async def test_json_lines_carry_every_group_whole_and_every_id_as_it_is(api, listed):
    """Describing all groups took a loop in a shell.

    https://github.com/redpanda-data/redpanda/issues/17710
    """
    found, response = await lines(api, "format=jsonl&page_size=2")
    assert response["Content-Type"] == "application/x-ndjson; charset=utf-8"
    assert "groups-local.jsonl" in response["Content-Disposition"]
    assert {row["group_id"] for row in found} == {"shop", "=1+1", '"quoted", comma', "@cmd", "-2", "new\nline"}
    shop = next(row for row in found if row["group_id"] == "shop")
    assert [(one["partition"], one["lag"], one["lag_state"]) for one in shop["offsets"]] == [
        (0, 0, "caught_up"),
        (1, 6, "lagging"),
    ]
    assert shop["total_lag"] == 6 and shop["last_rebalance"]["cause_text"] == "two joined."


@pytest.fixture
def many(async_db, world):
    for number in range(120):
        world.group(f"g{number:03d}", {("orders", 0): number})
    world.read()


async def test_an_export_of_many_groups_comes_in_portions(api, many):
    response = await AsyncClient().get(f"{GROUPS}?format=jsonl", headers={"Authorization": f"Bearer {api.token}"})
    chunks = [chunk async for chunk in response.streaming_content]
    assert [chunk.count(b"\n") for chunk in chunks] == [50, 50, 20]


async def test_it_is_chosen_by_the_accept_header_too(api, listed):
    rows, _ = await exported(api, "search=shop", Accept="text/csv")
    assert rows[0]["group_id"] == "shop"


def test_it_fails_with_the_error_object(api, listed):
    response = api.raw("GET", f"{GROUPS}?format=csv&regex=(")
    assert response.status_code == 400 and response.json()["kind"] == "invalid"


def test_other_formats_are_not_there(api, listed):
    assert api("GET", f"{GROUPS}?format=xml", expect=406)["kind"] == "not_acceptable"


@pytest.mark.parametrize("cell", ["=1", "+1", "-1", "@x", "\tx", "\rx", "\nx"])
def test_what_a_spreadsheet_would_run_is_quoted(cell):
    assert safe_cell(cell) == "'" + cell


@pytest.mark.parametrize("cell", ["plain", "a=1", -5, 5, None, ""])
def test_what_is_harmless_stays(cell):
    assert safe_cell(cell) == cell
