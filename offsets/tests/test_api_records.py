"""GET …/groups/{group}/records/."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groups.clusters import clusters
from groups.gateways import gateway_use
from groups.testing.feed import member_view
from groups.testing.fixtures import CLUSTER, World
from groups.testing.memory import MemoryGateway
from kaas.errors import ErrorCode
from tests.support.registry import RegistryServer, framed

RECORDS = f"{CLUSTER}/groups/shop/records/"


@pytest.fixture
def shop(world):
    world.topic("orders", 10, 10)
    world.topic("secret", 3)
    world.topic("late", 5, start=5)
    world.group("shop", {("orders", 0): 4, ("late", 0): 2, ("orders", 1): 99})
    return world


def sides(answer):
    return [(row["offset"], row["side"]) for row in answer["items"]]


def test_it_works(api, shop):
    answer = api("GET", f"{RECORDS}?topic=orders&partition=0&around=2")
    assert sides(answer) == [(2, "before"), (3, "before"), (4, "after"), (5, "after")]
    assert answer["committed"] == 4 and answer["items"][0]["value"] == {
        "encoding": "json",
        "data": '{"n": 2}',
        "size": 8,
        "cut": False,
        "schema": None,
        "note": None,
    }


def test_it_touches_no_group(api, shop):
    api("GET", f"{RECORDS}?topic=orders&partition=0")
    assert shop.gateway.calls == ["records"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("topic=late&partition=0&around=2", [(5, "after"), (6, "after")]),
        ("topic=orders&partition=1&around=2", [(8, "before"), (9, "before")]),
        (
            "topic=orders&partition=0&around=50",
            [(n, "before") for n in range(4)] + [(n, "after") for n in range(4, 10)],
        ),
    ],
)
def test_it_stays_inside_the_log(api, shop, query, expected):
    assert sides(api("GET", f"{RECORDS}?{query}")) == expected


def test_without_a_commit_it_begins_with_the_log(api, shop):
    shop.group("fresh", members=[member_view("one-1", {"orders": [1], "none": [0]})])
    shop.topic("none", 0)
    answer = api("GET", f"{CLUSTER}/groups/fresh/records/?topic=orders&partition=1&around=1")
    assert sides(answer) == [(0, "after")] and answer["committed"] is None
    assert api("GET", f"{CLUSTER}/groups/fresh/records/?topic=none&partition=0")["items"] == []


@pytest.mark.parametrize("query", ["topic=secret&partition=0", "topic=orders&partition=7", "topic=nowhere&partition=0"])
def test_only_partitions_of_the_group_are_shown(api, shop, query):
    api("GET", f"{RECORDS}?{query}", expect=404)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "topic=orders",
        "topic=orders&partition=0&offset=-1",
        "topic=orders&partition=0&at=yesterday",
        "topic=orders&partition=0&at=2026-11-29T14:00:00",
        "topic=orders&partition=0&at=2026-11-29T14:00:00Z&offset=1",
        "topic=orders&partition=0&show_as=avro",
        "topic=orders&partition=-1",
        "topic=orders&partition=x",
        "topic=orders&partition=0&around=51",
    ],
)
def test_a_question_that_makes_no_sense_is_refused(api, shop, query):
    api("GET", f"{RECORDS}?{query}", expect=400)


def test_one_may_look_elsewhere(api, shop):
    answer = api("GET", f"{RECORDS}?topic=orders&partition=0&around=2&offset=8")
    assert sides(answer) == [(6, "after"), (7, "after"), (8, "after"), (9, "after")]
    assert (answer["centre"], answer["looked_from"], answer["looked_to"]) == (8, 6, 10)
    assert sides(api("GET", f"{RECORDS}?topic=orders&partition=0&around=1&offset=1")) == [(0, "before"), (1, "before")]


def test_one_may_jump_to_a_time(api, shop):
    shop.topic("clock", 5, timestamps=[0, 60_000, 120_000, 180_000, 240_000])
    shop.group("watch", {("clock", 0): 0})
    address = f"{CLUSTER}/groups/watch/records/?topic=clock&partition=0&around=1"
    assert api("GET", f"{address}&at=1970-01-01T01:02:00%2B01:00")["centre"] == 2
    assert api("GET", f"{address}&at=2026-01-01T00:00:00Z")["centre"] == 5
    assert api("GET", f"{address}&at=0001-01-01T00:00:00Z")["centre"] == 0


def test_a_partition_that_has_no_answer_for_a_time_says_so(api, shop):
    shop.gateway.codes["orders", 0] = ErrorCode.LEADER_NOT_AVAILABLE
    address = f"{RECORDS}?topic=orders&partition=0&at=2026-01-01T00:00:00Z"
    assert api("GET", address, expect=503)["code"] == "LEADER_NOT_AVAILABLE"


def test_a_search_shows_what_holds_the_text(api, world):
    world.topic("long", 3_000)
    world.group("shop", {("long", 0): 1_000})
    answer = api("GET", f"{RECORDS}?topic=long&partition=0&around=3&search=99}}")
    assert sides(answer) == [
        (799, "before"),
        (899, "before"),
        (999, "before"),
        (1099, "after"),
        (1199, "after"),
        (1299, "after"),
    ]
    assert (answer["looked_from"], answer["looked_to"]) == (500, 1_500)


class TestSchemas:
    """With a schema registry."""

    @pytest.fixture
    def registry(self, settings):
        with RegistryServer() as started:
            local = replace(settings.KAAS_CLUSTERS["local"], schema_registry=started.url)
            settings.KAAS_CLUSTERS = {"local": local}
            yield started

    @pytest.fixture
    def framed_topic(self, registry, feed):
        """Two records, with schemas 1 and 9."""
        memory = MemoryGateway()
        gateway_use(clusters()["local"], memory)
        world = World(feed, memory)
        world.topic("orders", 2)
        log = memory.logs["orders", 0]
        log.records = [replace(one, value=framed(n, b"\x0e")) for n, one in zip((1, 9), log.records, strict=True)]
        world.group("shop", {("orders", 0): 1})
        yield world
        gateway_use(clusters()["local"], None)

    def test_values_are_read_with_their_schema(self, api, registry, framed_topic):
        registry.register(1, '{"type": "record", "name": "Order", "fields": [{"name": "n", "type": "long"}]}')
        answer = api("GET", f"{RECORDS}?topic=orders&partition=0")
        first, second = (row["value"] for row in answer["items"])
        assert (first["data"], first["schema"]) == ('{"n": 7}', {"id": 1, "kind": "AVRO", "name": "Order"})
        assert second["encoding"] == "hex" and second["schema"] == {"id": 9, "kind": None, "name": None}
        assert [(error["kind"], error["code"]) for error in answer["errors"]] == [("not_found", "NOT_FOUND")]

    def test_a_registry_that_is_broken_is_data(self, api, registry, framed_topic):
        registry.broken = (500, b"<html>")
        answer = api("GET", f"{RECORDS}?topic=orders&partition=0")
        assert len(answer["items"]) == 2 and {error["kind"] for error in answer["errors"]} == {"refused"}

    def test_one_may_look_at_the_bytes(self, api, registry, framed_topic):
        answer = api("GET", f"{RECORDS}?topic=orders&partition=0&show_as=hex")
        assert answer["items"][0]["value"]["data"] == "00000000010e" and registry.asked == []


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            "topic=late&partition=0&offset=3",
            "Offset 3 is gone: retention or a deletion took it; the log begins at 5 and ends",
        ),
        ("topic=late&partition=0", "The committed offset 2 is gone"),
        (
            "topic=orders&partition=0&offset=11",
            "Offset 11 lies past the log's end; the log begins at 0 and ends at 10 now.",
        ),
        ("topic=orders&partition=1", "The committed offset 99 lies past the log's end"),
    ],
)
def test_a_place_outside_the_log_is_said_with_where_the_log_is(api, shop, query, said):
    answer = api("GET", f"{RECORDS}?{query}")
    assert said in answer["out_of_range"]["message"] and answer["items"]


@pytest.mark.parametrize("query", ["offset=0", "offset=10", "", "at=1970-01-01T00:00:00Z"])
def test_a_place_inside_the_log_is_not(api, shop, query):
    assert api("GET", f"{RECORDS}?topic=orders&partition=0&{query}")["out_of_range"] is None


def test_what_retention_took_since_the_feed_told_is_asked_of_the_cluster(api, shop):
    shop.gateway.topic("orders", 3, start=12)
    answer = api("GET", f"{RECORDS}?topic=orders&partition=0&offset=3")
    assert [row["offset"] for row in answer["items"]] == [12, 13, 14]
    assert (answer["log_start"], answer["log_end"]) == (12, 15)
    assert "begins at 12 and ends at 15 now" in answer["out_of_range"]["message"]
    shop.gateway.topic("orders", 0, start=20)
    answer = api("GET", f"{RECORDS}?topic=orders&partition=0&offset=3")
    assert answer["items"] == [] and "the log is empty now, at 20" in answer["out_of_range"]["message"]
