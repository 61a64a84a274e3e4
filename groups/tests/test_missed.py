"""groups.missed."""

from __future__ import annotations

import pytest

from groups import missed
from groups.missed import missed_since
from groups.testing.feed import snapshot
from kaas.feed import keys


async def test_what_came_after_an_id_is_told_in_order(feed):
    first = feed.group(snapshot("one"))
    second = feed.gone("one")
    third = feed.group(snapshot("two"), "group_created")
    found = await missed_since("local", first)
    assert found.gap is None
    assert [(stream_id, event["kind"], event["group_id"]) for stream_id, event in found.events] == [
        (second, "group_deleted", "one"),
        (third, "group_created", "two"),
    ]
    assert (await missed_since("local", third)).events == ()


async def test_an_id_that_the_stream_does_not_reach_is_a_gap(feed):
    assert (await missed_since("local", "5-0")).gap == "trimmed"
    first = feed.group(snapshot("one"))
    feed.group(snapshot("two"))
    feed.redis.xtrim(keys.events("local"), maxlen=1, approximate=False)
    assert (await missed_since("local", first)).gap == "trimmed"
    assert (await missed_since("local", "9999999999999-0")).gap == "trimmed"


@pytest.mark.parametrize("nonsense", ["", "now", "1-x", "-", "+", "$", "1-1-1"])
async def test_an_id_that_is_none_is_a_gap(feed, nonsense):
    assert (await missed_since("local", nonsense)).gap == "unknown_id"


async def test_too_much_is_a_gap(feed, monkeypatch):
    monkeypatch.setattr(missed, "EVENTS_REPLAYED", 2)
    first, *_ = [feed.group(snapshot("one")) for _ in range(4)]
    assert (await missed_since("local", first)).gap == "too_far_behind"


async def test_what_cannot_be_read_is_left_out(feed):
    first = feed.group(snapshot("one"))
    feed.redis.xadd(keys.events("local"), {"e": "{"})
    last = feed.group(snapshot("two"))
    assert [stream_id for stream_id, _ in (await missed_since("local", first)).events] == [last]
