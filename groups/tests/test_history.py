"""groups.history."""

from __future__ import annotations

import pytest
import structlog
from django.db import IntegrityError

from groups import history
from groups.history import history_write
from groups.models import FeedPosition, Rebalance
from groups.testing.feed import rebalance_record, snapshot
from kaas.feed import keys

pytestmark = pytest.mark.django_db


def ended(feed, group_id="shop", **more):
    return feed.event(group_id, "rebalance_completed", rebalance=rebalance_record(**more))


def test_what_ended_becomes_rows_and_the_position_is_kept(feed):
    ended(feed)
    feed.group(snapshot("shop"))
    last = ended(feed, cause="session_expired")
    assert history_write("local") == 3
    rows = Rebalance.objects.of_group("local", "shop").order_by("number")
    assert [(row.number, row.cause) for row in rows] == [(1, "member_joined"), (2, "session_expired")]
    assert rows[0].record["moved"][0]["from"] == "one-1" and rows[0].ended_at.tzinfo is not None
    assert FeedPosition.objects.get(cluster="local").stream_id == last


def test_a_restart_goes_on_where_the_rows_end(feed):
    ended(feed)
    history_write("local")
    assert history_write("local") == 0
    ended(feed)
    ended(feed, "other")
    assert history_write("local") == 2
    assert list(Rebalance.objects.order_by("pk").values_list("number", flat=True)) == [1, 2, 1]


def test_a_worker_that_dies_in_the_middle_loses_nothing(feed, monkeypatch):
    ended(feed)
    monkeypatch.setattr(Rebalance.objects, "bulk_create", lambda rows: (_ for _ in ()).throw(IntegrityError("died")))
    with pytest.raises(IntegrityError):
        history_write("local")
    assert FeedPosition.objects.get(cluster="local").stream_id == "0-0" and not Rebalance.objects.exists()
    monkeypatch.undo()
    history_write("local")
    assert Rebalance.objects.count() == 1


def test_a_twin_that_read_the_same_entries_writes_nothing(feed, monkeypatch):
    ended(feed)
    read = history._ended

    def twin_is_faster(entries):
        monkeypatch.setattr(history, "_ended", read)
        assert history_write("local") == 1
        return read(entries)

    monkeypatch.setattr(history, "_ended", twin_is_faster)
    assert history_write("local") == 0
    assert Rebalance.objects.count() == 1


def test_long_streams_are_read_in_steps(feed, monkeypatch):
    monkeypatch.setattr(history, "ENTRIES_PER_STEP", 2)
    for _ in range(5):
        ended(feed)
    assert [history_write("local") for _ in range(4)] == [2, 2, 1, 0]
    assert Rebalance.objects.count() == 5


def test_what_cannot_be_read_is_passed_over(feed):
    feed.redis.xadd(keys.events("local"), {"e": "{"})
    feed.redis.xadd(keys.events("local"), {"x": "y"})
    ended(feed)
    assert history_write("local") == 3 and Rebalance.objects.count() == 1


def test_a_gap_is_said(feed):
    ended(feed)
    history_write("local")
    for _ in range(3):
        ended(feed)
    feed.redis.xtrim(keys.events("local"), maxlen=1, approximate=False)
    with structlog.testing.capture_logs() as logs:
        history_write("local")
    assert [line["event"] for line in logs] == ["history_gap"]
    assert Rebalance.objects.count() == 2


def test_ids_and_reasons_of_any_characters_are_kept(feed):
    odd = "nul\x00 é/😀"
    ended(feed, odd, member_id=odd, detail={"reason": odd, "client_id": odd})
    history_write("local")
    row = Rebalance.objects.of_group("local", odd).get()
    assert row.group_id == odd and row.record["detail"]["reason"] == odd
