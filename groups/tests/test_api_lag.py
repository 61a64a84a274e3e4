"""GET …/groups/{group}/lag/."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest

from groups.feeds import feed_of
from groups.lag import sampling
from groups.lag.judging import judge_at_once
from groups.lag.sampling import forget_samples, lag_sample
from groups.lag.window import TICK_MS, TICKS
from groups.testing.feed import member_view, offset_view, snapshot
from groups.testing.fixtures import CLUSTER
from groups.times import now_ms

LAG = f"{CLUSTER}/groups/shop/lag/"


@pytest.fixture
def sampled(world, monkeypatch):
    """A group that lags ten records behind a minute ago, and four now; its topic grew from 10 to 20."""
    forget_samples()
    for ago_s, committed, log_end in ((60, 0, 10), (30, 8, 20), (0, 16, 20)):
        world.topic("orders", log_end)
        world.group("shop", {("orders", 0): committed}, members=[member_view("one-1", {"orders": [0]})])
        world.read()
        at = now_ms() - ago_s * 1_000
        monkeypatch.setattr(sampling, "now_ms", lambda at=at: at)
        lag_sample("local")
    yield world
    forget_samples()


def test_it_works(api, sampled):
    answer = api("GET", LAG)
    assert [(row["lag"], row["committed"], row["log_end"]) for row in answer["items"]] == [
        (10, 0, 10),
        (12, 8, 20),
        (4, 16, 20),
    ]
    assert [row["at"] for row in answer["items"]] == sorted(row["at"] for row in answer["items"])
    assert (answer["end"], answer["step_ms"]) == ("log_end", 10_000)
    assert answer["kept"][0] == {"step_ms": 10_000, "kept_ms": 3_600_000}
    now = answer["now"]
    assert (now["total_lag"], now["lag_status"]) == (4, "lagging")
    assert now["lag_status_text"].startswith("Records wait.") and now["lag_status_partition"] is None
    assert (now["produced_per_s"], now["clears_in_ms"], now["rates_over_ms"]) == (None, None, None)
    assert now["clears_text"].startswith("Not known yet")
    assert 30_000 <= now["behind"]["ms"] < 60_000 and now["behind"]["at_least"] is False
    assert now["behind"]["resolution_ms"] == pytest.approx(30_000, abs=1_000)
    assert now["behind_text"].startswith("The oldest record that waits is")


def test_a_judged_group_says_where_why_and_when_it_will_be_done(api, world):
    feed, begin = feed_of("local"), now_ms() - (TICKS - 1) * TICK_MS
    for turn in range(TICKS):
        at = begin + turn * TICK_MS
        world.feed.topic("orders", (0, 10_000 + 120 * turn), at=at)
        held = {("orders", 0): offset_view(400 * turn, committed_at=at)}
        world.feed.group(snapshot("shop", members=[member_view("one-1", {"orders": [0]})], offsets=held, at=at))
        world.read()
        judge_at_once(feed.index, at)
    now = api("GET", LAG)["now"]
    assert (now["lag_status"], now["lag_status_partition"]) == ("ok", 0)
    assert now["produced_per_s"] == pytest.approx(6, rel=0.05) and now["consumed_per_s"] == pytest.approx(20, rel=0.05)
    assert now["clears_in_ms"] == pytest.approx(8_320 / 14 * 1_000, rel=0.05)
    assert now["clears_text"] == "In about 9 min at this rate."


def test_a_part_can_be_asked_for(api, sampled):
    assert len(api("GET", f"{LAG}?topic=orders&partition=0")["items"]) == 3
    assert api("GET", f"{LAG}?topic=orders&partition=1")["items"][-1]["lag"] is None
    assert api("GET", f"{LAG}?topic=other")["items"][-1]["lag"] is None


def test_a_time_can_be_asked_for(api, sampled):
    begin = datetime.now(UTC) - timedelta(seconds=45)
    answer = api("GET", f"{LAG}?from={quote(begin.isoformat())}")
    assert [row["lag"] for row in answer["items"]] == [12, 4]
    until = quote((begin + timedelta(seconds=30)).isoformat())
    assert [row["lag"] for row in api("GET", f"{LAG}?from={quote(begin.isoformat())}&to={until}")["items"]] == [12]
    assert [row["lag"] for row in api("GET", f"{LAG}?points=2&from={quote(begin.isoformat())}")["items"]] == [12, 4]
    long_ago = quote((begin - timedelta(days=40)).isoformat())
    assert api("GET", f"{LAG}?from={long_ago}")["step_ms"] == 900_000


@pytest.mark.parametrize(
    "query",
    [
        "points=0",
        "points=1001",
        "points=many",
        "partition=0",
        "topic=orders&partition=-1",
        "from=yesterday",
        "from=2026-01-01T00:00:00",
        "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z",
        "colour=blue",
    ],
)
def test_it_refuses_what_makes_no_sense(api, sampled, query):
    assert api("GET", f"{LAG}?{query}", expect=400)["details"]


def test_it_hides_what_is_not_there_or_not_visible(api, make_caller, sampled):
    assert api("GET", f"{CLUSTER}/groups/never/lag/", expect=404)["kind"] == "not_found"
    make_caller("read", group_pattern="team-*")("GET", LAG, expect=404)


def test_a_group_that_this_process_does_not_know_yet_has_a_past_only(api, world):
    world.topic("orders", 5)
    world.group("shop", {("orders", 0): 5})
    answer = api("GET", LAG)
    assert (answer["items"], answer["now"]) == ([], None)


def test_a_group_that_read_everything_is_not_behind(api, world):
    world.topic("orders", 5)
    world.group("shop", {("orders", 0): 5})
    world.read()
    now = api("GET", LAG)["now"]
    assert now["behind"] == {"ms": 0, "resolution_ms": 0, "at_least": False}
    assert (now["behind_text"], now["clears_text"], now["lag_status_text"]) == (
        "Nothing waits.",
        "Nothing waits.",
        "Everything was read.",
    )


def test_large_numbers_come_as_text_too(api, world):
    forget_samples()
    world.feed.topic("orders", (0, 2**60))
    world.feed.group(snapshot("shop", offsets={("orders", 0): 1}))
    world.read()
    lag_sample("local")
    (row,) = api("GET", LAG)["items"]
    assert row["lag_str"] == str(2**60 - 1)
    forget_samples()
