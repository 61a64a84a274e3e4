"""/ws/clusters/{cluster}/groups/."""

from __future__ import annotations

import asyncio

import pytest
import structlog
from asgiref.sync import sync_to_async

from groups import control, live
from groups.feeds import feed_of
from groups.models import RoleBinding, Token
from groups.problems import not_connected
from groups.testing.feed import member_view, snapshot
from kaas.feed import keys
from kaas.feed.reader import FeedReader

LIST = "local/groups/"
OWN = "http://testserver"


async def test_it_works(listen, feed):
    socket = await listen(LIST)
    first = await socket.next()
    assert (first["type"], first["groups"], first["total"], first["counters"]) == ("snapshot", [], 0, {})
    assert first["snapshot_age_ms"] is not None
    stream_id = feed.group(snapshot("shop"), "group_created")
    event = await socket.next()
    assert (event["type"], event["id"]) == ("event", stream_id)
    assert event["event"]["kind"] == "group_created" and event["event"]["group_id"] == "shop"
    assert event["event"]["cluster"] == "local" and event["event"]["at"].endswith("+00:00")
    assert "patch" not in event["event"] and "snapshot" not in event["event"]
    assert event["item"]["group_id"] == "shop"
    feed.gone("shop")
    assert (await socket.next())["item"] is None


async def test_events_about_a_member_name_it(listen, feed):
    socket = await listen(LIST)
    await socket.next()
    feed.group(
        snapshot("shop"), "member_expired", member_id="one-1", client_id="one", silent_ms=10_000, timeout_ms=9_000
    )
    event = (await socket.next())["event"]
    assert (event["member_id"], event["silent_ms"]) == ("one-1", 10_000)


async def test_a_snapshot_is_the_page_that_was_asked_for(listen, feed):
    for number in range(5):
        feed.group(snapshot(f"g{number}"))
    async with asyncio.timeout(5):
        while len(feed_of("local").index.rows) < 5:
            await asyncio.sleep(0.005)
    page = await (await listen(f"{LIST}?page_size=2&ordering=-group_id&search=g")).next()
    assert [row["group_id"] for row in page["groups"]] == ["g4", "g3"] and page["total"] == 5


async def test_it_tells_of_groups_that_match_or_matched(listen, feed):
    socket = await listen(f"{LIST}?state=Stable")
    await socket.next()
    feed.group(snapshot("calm"))
    feed.group(snapshot("shop", members=[member_view("one-1")]))
    assert (await socket.next())["event"]["group_id"] == "shop"
    feed.group(snapshot("shop"))
    event = await socket.next()
    assert event["item"]["state"] == "Empty"
    feed.group(snapshot("shop"))
    feed.group(snapshot("ship", members=[member_view("one-1")]))
    assert (await socket.next())["event"]["group_id"] == "ship"


async def test_it_resumes_without_a_gap(listen, feed):
    first = await listen(LIST)
    await first.next()
    seen = feed.group(snapshot("one"))
    await first.next()
    await first.leave()
    missed = [feed.group(snapshot(name)) for name in ("two", "three")]
    again = await listen(f"{LIST}?since={seen}")
    assert [(await again.next())["id"] for _ in range(2)] == missed
    assert {row["group_id"] for row in (await again.next())["groups"]} == {"one", "two", "three"}
    feed.group(snapshot("four"))
    assert (await again.next())["event"]["group_id"] == "four"


@pytest.fixture
async def held(monkeypatch):
    """Holds back what the feed's reader has read, until this event is set."""
    going_on, reader = asyncio.Event(), FeedReader._present

    async def present(self, *given):
        await going_on.wait()
        return await reader(self, *given)

    monkeypatch.setattr(FeedReader, "_present", present)
    going_on.set()
    return going_on


async def test_a_snapshot_is_no_older_than_what_was_missed_and_nothing_is_told_twice(listen, feed, held):
    first = await listen(LIST)
    await first.next()
    seen = feed.group(snapshot("one"))
    await first.next()
    held.clear()
    missed = [feed.group(snapshot(name)) for name in ("two", "three")]
    again = await listen(f"{LIST}?since={seen}")
    assert [(await again.next())["id"] for _ in range(2)] == missed
    held.set()
    assert {row["group_id"] for row in (await again.next())["groups"]} == {"one", "two", "three"}
    feed.group(snapshot("four"))
    assert (await again.next())["event"]["group_id"] == "four"


async def test_where_the_reader_does_not_catch_up_all_is_told_later(listen, feed, held, monkeypatch):
    monkeypatch.setattr(live, "CATCH_UP_S", 0.01)
    first = await listen(LIST)
    await first.next()
    seen = feed.group(snapshot("one"))
    await first.next()
    held.clear()
    feed.group(snapshot("two"))
    again = await listen(f"{LIST}?since={seen}")
    assert (await again.next())["event"]["group_id"] == "two"
    assert {row["group_id"] for row in (await again.next())["groups"]} == {"one"}
    held.set()
    assert (await again.next())["item"]["group_id"] == "two"


async def test_a_trimmed_id_is_told_as_a_gap_with_a_fresh_snapshot(listen, feed):
    seen = feed.group(snapshot("one"))
    feed.group(snapshot("two"))
    feed.redis.xtrim(keys.events("local"), maxlen=1, approximate=False)
    socket = await listen(f"{LIST}?since={seen}")
    assert await socket.next() == {"type": "gap", "reason": "trimmed"}
    assert (await socket.next())["type"] == "snapshot"


async def test_a_socket_that_fell_behind_starts_anew(listen, feed):
    socket = await listen(LIST)
    await socket.next()
    (subscription,) = feed_of("local").hub.lists
    subscription.lose("overflow")
    assert await socket.next() == {"type": "gap", "reason": "overflow"}
    assert (await socket.next())["type"] == "snapshot"


async def test_it_pings(listen, monkeypatch):
    monkeypatch.setattr(live.LiveSocket, "ping_s", 0.01)
    socket = await listen(LIST)
    assert (await socket.any())["type"] == "snapshot"
    ping = await socket.any()
    assert ping["type"] == "ping" and ping["at"] and ping["snapshot_age_ms"] >= 0


async def test_pings_tell_the_lag_that_changed_of_the_page_and_nothing_else(listen, feed, monkeypatch):
    monkeypatch.setattr(live.LiveSocket, "ping_s", 0.01)
    feed.topic("orders", (0, 10))
    feed.topic("bills", (0, 2**60))
    feed.group(snapshot("shop", offsets={("orders", 0): 4}))
    feed.group(snapshot("still", offsets={("orders", 0): 4}))
    index = feed_of("local").index
    await seen(lambda: {"shop", "still"} <= index.rows.keys() and index.rows["shop"].total_lag() == 6)
    socket = await listen(f"{LIST}?search=shop")
    assert (await socket.next())["groups"][0]["total_lag"] == 6
    assert "totals" not in await socket.any()
    feed.topic("orders", (0, 30))
    told = await next_totals(socket)
    assert told == [{"key": "shop", "total_lag": 26, "lag_status": "stopped"}]
    feed.group(snapshot("shop", offsets={("bills", 0): 0}))
    assert (await socket.next())["item"]["total_lag_str"] == str(2**60)
    feed.topic("bills", (0, 2**60 + 1))
    assert (await next_totals(socket))[0]["total_lag_str"] == str(2**60 + 1)
    assert "totals" not in await socket.any()


async def next_totals(socket):
    """The totals of the next ping that has some."""
    async with asyncio.timeout(10):
        while "totals" not in (ping := await socket.any()):
            pass
    return ping["totals"]


async def seen(condition):
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


async def test_it_listens_to_nothing(listen, feed):
    socket = await listen(LIST)
    await socket.next()
    await socket.say("x" * 10_000)
    feed.group(snapshot("shop"))
    assert (await socket.next())["event"]["group_id"] == "shop"


@pytest.mark.parametrize("token", [None, "kaas_nonsense", ""])
async def test_strangers_get_no_socket(listen, token):
    assert (await listen(LIST, token=token)).close_code == live.DENIED


@pytest.mark.parametrize(
    ("origin", "opens"),
    [
        (OWN, True),
        ("https://trusted.example", True),
        ("http://evil.example", False),
        ("http://testserver.evil.example", False),
        ("null", False),
    ],
)
async def test_a_page_of_another_site_gets_no_socket(listen, settings, origin, opens):
    settings.KAAS_TRUSTED_ORIGINS = ("https://trusted.example",)
    socket = await listen(LIST, origin=origin)
    assert (socket.close_code == live.DENIED) is not opens


@pytest.mark.parametrize("path", ["nowhere/groups/", f"{LIST}?ordering=x", f"{LIST}?colour=blue", f"{LIST}?regex=("])
async def test_what_makes_no_sense_gets_no_socket(listen, path):
    assert (await listen(path)).close_code in (live.NOT_FOUND, live.BAD_REQUEST)


async def test_it_tells_of_visible_groups_only(listen, feed, make_caller):
    narrow = await sync_to_async(make_caller)("read", group_pattern="team-*")
    seen = feed.group(snapshot("team-a"))
    feed.group(snapshot("vault"))
    feed.gone("vault")
    feed.group(snapshot("team-b"))
    socket = await listen(f"{LIST}?since={seen}", token=narrow.token)
    assert (await socket.next())["event"]["group_id"] == "team-b"
    assert {row["group_id"] for row in (await socket.next())["groups"]} == {"team-a", "team-b"}
    feed.group(snapshot("vault"))
    feed.gone("vault")
    feed.group(snapshot("team-c"))
    assert (await socket.next())["event"]["group_id"] == "team-c"


async def test_a_right_that_is_taken_away_ends_it_at_once(listen, make_caller):
    reader = await sync_to_async(make_caller)("read")
    socket = await listen(LIST, token=reader.token)
    await socket.next()
    await Token.objects.filter(owner__username="caller").adelete()
    await sync_to_async(control.access_changed)()
    assert await socket.closed() == live.DENIED


async def test_it_asks_by_itself_too_and_goes_on_with_narrower_rights(listen, feed, make_caller, monkeypatch):
    monkeypatch.setattr(live, "RIGHTS_EVERY_S", 0.0)
    monkeypatch.setattr(live.LiveSocket, "ping_s", 0.01)
    reader = await sync_to_async(make_caller)("read")
    socket = await listen(LIST, token=reader.token)
    await socket.next()
    await RoleBinding.objects.filter(user__username="caller").aupdate(group_pattern="team-*")
    await socket.any()
    await socket.any()
    feed.group(snapshot("vault"))
    feed.group(snapshot("team-a"))
    assert (await socket.next())["event"]["group_id"] == "team-a"
    await RoleBinding.objects.filter(user__username="caller").adelete()
    assert await socket.closed() == live.DENIED


@pytest.mark.parametrize(
    ("problem", "code"),
    [(ZeroDivisionError("a fault"), live.FAILED), (not_connected("feed", "away"), live.TRY_AGAIN)],
)
async def test_one_that_can_tell_nothing_any_more_is_closed(listen, feed, monkeypatch, problem, code):
    async def fails(self, told):
        raise problem

    socket = await listen(LIST)
    await socket.next()
    monkeypatch.setattr(live.GroupListSocket, "_send_told", fails)
    feed.group(snapshot("shop"))
    assert await socket.closed() == code


async def test_one_that_leaves_while_it_is_told_something_is_no_failure(listen, feed, monkeypatch):
    async def refused(self, text_data):
        tried.set()
        raise RuntimeError("Unexpected ASGI message 'websocket.send', after sending 'websocket.close'.")

    tried, socket = asyncio.Event(), await listen(LIST)
    await socket.next()
    monkeypatch.setattr(live.GroupListSocket, "send", refused)
    with structlog.testing.capture_logs() as logs:
        feed.group(snapshot("shop"))
        async with asyncio.timeout(10):
            await tried.wait()
        await socket.leave()
    assert not [line for line in logs if line["event"].startswith("socket_")]
    assert feed_of("local").hub.count() == 0


async def test_it_frees_its_place(listen):
    socket = await listen(LIST)
    await socket.next()
    assert feed_of("local").hub.count() == 1
    await socket.leave()
    assert feed_of("local").hub.count() == 0


async def test_a_server_that_can_is_handed_the_same_messages_for_all(listen, feed):
    sockets = [await listen(LIST, alike=alike) for alike in (True, True, False)]
    for socket in sockets:
        await socket.next()
    ids = [feed.group(snapshot(f"g{number}")) for number in range(20)]
    for socket in sockets:
        told = [await socket.next() for _ in ids]
        assert [(one["type"], one["id"], one["item"]["group_id"]) for one in told] == [
            ("event", stream_id, f"g{number}") for number, stream_id in enumerate(ids)
        ]


async def test_what_waited_is_looked_at_again_when_rights_changed(listen, feed, make_caller, monkeypatch):
    monkeypatch.setattr(live, "RIGHTS_EVERY_S", 0.0)
    reader = await sync_to_async(make_caller)("read")
    socket = await listen(LIST, token=reader.token, alike=True)
    await socket.next()
    await RoleBinding.objects.filter(user__username="caller").aupdate(group_pattern="team-*")
    feed.group(snapshot("vault"))
    feed.group(snapshot("team-a"))
    assert (await socket.next())["event"]["group_id"] == "team-a"
    (subscription,) = feed_of("local").hub.lists
    assert feed_of("local").hub.count() == 1 and subscription.lost is None
