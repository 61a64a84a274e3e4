"""GET and DELETE …/groups/{group}/offsets/."""

from __future__ import annotations

import pytest

from groups.models import AuditRow, OffsetBackup
from groups.testing.feed import member_view, offset_view
from groups.testing.fixtures import CLUSTER
from groups.times import now_ms
from kaas.errors import ErrorCode

OFFSETS = f"{CLUSTER}/groups/shop/offsets/"


@pytest.fixture
def shop(world):
    world.topic("orders", 10, 10)
    world.topic("bills", 5)
    world.group("shop", {("orders", 0): 10, ("orders", 1): 4, ("bills", 0): 5})
    return world


def by_partition(answer):
    return {(row["topic"], row["partition"]): row for row in answer["items"]}


def scope(*topics):
    return {"topics": [{"topic": name, **({"partitions": some} if some is not None else {})} for name, some in topics]}


def test_it_works(api, shop):
    answer = api("GET", OFFSETS)
    row = by_partition(answer)["orders", 1]
    assert (row["log_start"], row["committed"], row["log_end"], row["last_stable"]) == (0, 4, 10, 10)
    assert (row["lag"], row["lag_state"], row["lost"], row["owner"], row["metadata"]) == (6, "lagging", 0, None, "")
    assert row["committed_at"].endswith("+00:00") and answer["total"] == 3


def test_each_kind_of_lag_has_its_own_word(api, world):
    """One partition without a leader took everything with it.

    https://github.com/redpanda-data/console/issues/2573
    https://github.com/redpanda-data/console/issues/2327
    """
    world.feed.topic("t", (0, 10), (0, 10), (5, 10), (0, 10), (0, 0), None)
    world.group("shop", {("t", p): o for p, o in enumerate((10, 4, 2, 15, 0, 3))})
    rows = api("GET", OFFSETS)["items"]
    assert [row["lag_state"] for row in rows] == [
        "caught_up",
        "lagging",
        "before_log_start",
        "past_log_end",
        "empty",
        "unknown",
    ]
    assert [row["lag"] for row in rows] == [0, 6, 8, None, 0, None]
    assert (rows[2]["lost"], rows[3]["committed"]) == (3, 15)


def test_partitions_that_are_owned_without_a_commit_are_shown(api, world):
    """They vanished, and with them whole groups that commit elsewhere.

    https://github.com/redpanda-data/console/issues/788
    https://github.com/redpanda-data/console/issues/447
    https://issues.apache.org/jira/browse/KAFKA-7141
    """
    world.topic("orders", 10, 10)
    world.group("shop", {("orders", 0): 10}, members=[member_view("one-1", {"orders": [0, 1]})])
    zero, one = api("GET", OFFSETS)["items"]
    assert (zero["owner"], zero["owner_client_id"], one["owner"]) == ("one-1", "one", "one-1")
    assert (one["committed"], one["lag"], one["lag_state"], one["committed_at"]) == (None, None, "none_committed", None)


def test_the_newer_of_snapshot_and_topic_gives_the_ends(api, world):
    """An open transaction looked like a consumer that does not read: both ends are told.

    https://github.com/softwaremill/klag-exporter/issues/104
    """
    now = now_ms()
    world.feed.topic("orders", (0, 8), at=now - 1_000)
    fresh = offset_view(10, log_start=0, log_end=10, last_stable=9)
    world.group("shop", {("orders", 0): fresh}, at=now)
    (row,) = api("GET", OFFSETS)["items"]
    assert (row["log_end"], row["last_stable"], row["lag_state"]) == (10, 9, "caught_up")
    world.feed.topic("orders", (0, 12), at=now + 1_000)
    assert api("GET", OFFSETS)["items"][0]["log_end"] == 12


def test_a_topic_tells_the_same_lag_as_its_group(api, shop):
    """The page of a topic said -56 where the page of the group said 50.

    https://github.com/birdayz/kaf/issues/303
    """
    shop.group("ahead", {("orders", 0): 99, ("orders", 1): 3})
    shop.read()
    told = {row["group_id"]: row["topic_lag"] for row in api("GET", f"{CLUSTER}/topics/orders/groups/")["items"]}
    for group_id, lag in told.items():
        rows = api("GET", f"{CLUSTER}/groups/{group_id}/offsets/")["items"]
        assert lag == sum(row["lag"] or 0 for row in rows if row["topic"] == "orders")
    assert told == {"shop": 6, "ahead": 7}


def test_a_topic_that_no_member_reads_any_more_is_owned_by_nobody_and_can_be_dropped(api, world):
    """Its lag grew until the retention, and nothing could be done about it while the group lived.

    https://github.com/themoah/klag/issues/92
    https://github.com/provectus/kafka-ui/issues/4381
    """
    world.topic("orders", 10)
    world.topic("left", 10)
    world.group("shop", {("orders", 0): 4, ("left", 0): 4}, members=[member_view("one-1", {"orders": [0]})])
    world.gateway.groups["shop"].topics = {"orders"}
    rows = by_partition(api("GET", OFFSETS))
    assert (rows["left", 0]["owner"], rows["orders", 0]["owner"]) == (None, "one-1")
    assert api("DELETE", OFFSETS, scope(("left", None)))["items"][0]["error"] is None
    assert list(world.gateway.offsets("shop")) == [("orders", 0)]


def test_numbers_that_a_double_cannot_hold_are_texts_too(api, world):
    world.topic("orders", 10)
    world.group("shop", {("orders", 0): 2**60 + 1})
    (row,) = api("GET", OFFSETS)["items"]
    assert row["committed_str"] == str(2**60 + 1) and row["lag_state"] == "past_log_end"


def test_it_is_404_for_an_unknown_or_invisible_group(api, make_caller, shop):
    api("GET", f"{CLUSTER}/groups/never-seen/offsets/", expect=404)
    make_caller("read", group_pattern="other")("GET", OFFSETS, expect=404)


def test_it_deletes_one_partition_and_keeps_it_for_undo(api, shop):
    answer = api("DELETE", OFFSETS, scope(("orders", [0])))
    assert answer["items"] == [{"topic": "orders", "partition": 0, "before": 10, "error": None}]
    assert sorted(shop.gateway.offsets("shop")) == [("bills", 0), ("orders", 1)]
    assert OffsetBackup.objects.get().offsets == {"orders/0": [10, -1, ""]}
    row = AuditRow.objects.get(action="offsets_delete")
    assert (row.before, row.after, row.outcome) == ({"orders/0": 10}, {"orders/0": None}, "done")


def test_it_deletes_a_topic_and_what_was_never_committed_needs_nothing(api, shop):
    answer = api("DELETE", OFFSETS, scope(("orders", None), ("bills", [7])))
    assert [(row["topic"], row["partition"], row["before"]) for row in answer["items"]] == [
        ("bills", 7, None),
        ("orders", 0, 10),
        ("orders", 1, 4),
    ]
    assert list(shop.gateway.offsets("shop")) == [("bills", 0)]


def test_a_topic_that_is_gone_is_deleted_by_what_was_committed_in_it(api, world):
    """Where partitions came from the topic, there were none to delete. A broker that refuses is told.

    Read in the source of https://github.com/tchiotludo/akhq
    """
    world.group("shop", {("gone", 2): 5, ("gone", 7): 6})
    world.gateway.codes.update({("gone", 2): ErrorCode.NONE, ("gone", 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
    rows = by_partition(api("DELETE", OFFSETS, scope(("gone", None))))
    assert rows["gone", 2]["error"] is None and rows["gone", 7]["error"]["code_number"] == 3
    assert list(world.gateway.offsets("shop")) == [("gone", 7)]


def test_it_only_tells_in_a_dry_run(api, shop):
    answer = api("DELETE", f"{OFFSETS}?dry_run=true", scope(("orders", None)))
    assert answer["dry_run"] is True and len(answer["items"]) == 2
    assert len(shop.gateway.offsets("shop")) == 3 and not OffsetBackup.objects.exists()


def test_a_live_reader_of_the_topic_is_a_sentence(api, shop):
    shop.gateway.groups["shop"].members = {"m": None}
    problem = api("DELETE", OFFSETS, scope(("orders", None)), expect=409)
    assert problem["code_number"] == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC and "live member" in problem["message"]
    assert OffsetBackup.objects.get().void and AuditRow.objects.get(action="offsets_delete").outcome == "failed"


def test_what_fails_in_part_is_said_per_partition(api, shop):
    shop.gateway.codes["orders", 1] = ErrorCode.KAFKA_STORAGE_ERROR
    rows = by_partition(api("DELETE", OFFSETS, scope(("orders", None))))
    assert rows["orders", 0]["error"] is None and rows["orders", 1]["error"]["code_number"] == 56
    assert AuditRow.objects.get(action="offsets_delete").outcome == "partly"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"topics": []},
        {"topics": [{}]},
        {"topics": [{"topic": ""}]},
        {"topics": "orders"},
        {"topics": [{"topic": "orders", "partitions": [-1]}]},
        {"topics": [{"topic": "orders", "partitions": "0"}]},
        {"topics": [{"topic": "x" * 250}]},
        {"topics": [{"topic": "orders", "colour": "blue"}]},
        {"all": True},
    ],
)
def test_a_body_that_names_nothing_deletes_nothing(api, shop, body):
    """Nothing was taken for everything.

    https://github.com/redpanda-data/redpanda/issues/11926
    """
    api("DELETE", OFFSETS, body, expect=400)
    assert len(shop.gateway.offsets("shop")) == 3


def test_viewers_delete_nothing_and_unknown_groups_are_404(api, make_caller, shop):
    make_caller("read")("DELETE", OFFSETS, scope(("orders", None)), expect=403)
    api("DELETE", f"{CLUSTER}/groups/never-seen/offsets/", scope(("orders", None)), expect=404)
