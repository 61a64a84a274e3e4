"""/ws/clusters/{cluster}/groups/{group}/."""

from __future__ import annotations

import asyncio
import random

from asgiref.sync import sync_to_async

from groups import control, live
from groups.changes import merged, stable
from groups.feeds import feed_of
from groups.hub import Told
from groups.keys import key_of
from groups.testing.feed import member_view, snapshot
from groups.times import now_ms

GROUP = "local/groups/shop/"


async def test_it_works(listen, feed):
    feed.topic("orders", (0, 10))
    feed.group(snapshot("shop", members=[member_view("one-1", {"orders": [0]})], offsets={("orders", 0): 4}))
    socket = await listen(GROUP)
    first = await socket.next()
    assert first["type"] == "snapshot" and first["group"]["group_id"] == "shop" and first["group"]["total_lag"] == 6
    assert first["group"]["armed_reset"] is None
    stream_id = feed.group(snapshot("shop", members=[]), "member_left", member_id="one-1", reason="closing")
    event = await socket.next()
    assert (event["type"], event["id"], event["event"]["kind"]) == ("event", stream_id, "member_left")
    assert event["changes"]["state"] == "Empty" and event["changes"]["members"] == {"one-1": None}
    feed.gone("shop")
    assert (await socket.next())["changes"] is None


async def test_it_may_be_opened_for_a_group_that_is_not_there_yet(listen, feed):
    socket = await listen(GROUP)
    assert (await socket.next())["group"] is None
    feed.group(snapshot("shop"), "group_created")
    event = await socket.next()
    assert event["event"]["kind"] == "group_created" and event["changes"]["group_id"] == "shop"


async def test_it_tells_of_its_own_group_only(listen, feed):
    odd = "a/é 😀"
    socket = await listen(f"local/groups/{key_of(odd)}/")
    await socket.next()
    feed.group(snapshot("shop"))
    feed.group(snapshot(odd))
    assert (await socket.next())["event"]["group_id"] == odd


async def test_a_snapshot_and_every_later_event_give_a_fresh_snapshot(listen, feed):
    dice = random.Random(7)
    socket = await listen(GROUP)
    shown = (await socket.next())["group"]
    for _ in range(60):
        members = [member_view(f"m-{n}", {"orders": [n]}) for n in range(4) if dice.random() < 0.5]
        if dice.random() < 0.15:
            last = feed.gone("shop")
        else:
            last = feed.group(snapshot("shop", members=members, offsets={("orders", 0): dice.randrange(9)}))
    while True:
        event = await socket.next()
        shown = merged(shown, event["changes"])
        if event["id"] == last:
            break
    fresh = (await (await listen(GROUP)).next())["group"]
    beside = ("armed_reset", "snapshot_age_ms")
    assert (shown is None) == (fresh is None)
    if fresh is not None:
        assert {k: v for k, v in stable(shown).items() if k not in beside} == {
            k: v for k, v in stable(fresh).items() if k not in beside
        }


async def test_it_resumes_with_what_was_missed_and_a_snapshot(listen, feed):
    seen = feed.group(snapshot("shop"))
    feed.group(snapshot("other"))
    missed = feed.group(snapshot("shop"), "offsets_committed")
    socket = await listen(f"{GROUP}?since={seen}")
    event = await socket.next()
    assert (event["id"], event["event"]["kind"], event["changes"]) == (missed, "offsets_committed", {})
    assert (await socket.next())["group"]["group_id"] == "shop"


async def test_pings_carry_heartbeats_and_lag(listen, feed, monkeypatch):
    monkeypatch.setattr(live.GroupSocket, "ping_s", 0.02)
    feed.topic("orders", (0, 10))
    feed.group(snapshot("shop", offsets={("orders", 0): 4}))
    async with asyncio.timeout(5):
        while "shop" not in feed_of("local").index.rows:
            await asyncio.sleep(0.005)
    socket = await listen(GROUP)
    await socket.next()
    feed_of("local").hub.pulse({"shop": {"one-1": now_ms()}})
    ping = await socket.any()
    while not ping["heartbeats"]:
        ping = await socket.any()
    assert list(ping["heartbeats"]) == ["one-1"] and ping["heartbeats"]["one-1"].endswith("+00:00")
    assert ping["lag_status"] in ("stopped", "unknown")
    assert (await socket.any())["heartbeats"] == {}


async def test_a_viewer_sees_actions_as_a_viewer(listen, feed, make_caller):
    feed.group(snapshot("shop"))
    viewer = await sync_to_async(make_caller)("read")
    socket = await listen(GROUP, token=viewer.token)
    assert (await socket.next())["group"]["actions"]["delete"]["allowed"] is False
    feed.group(snapshot("shop", members=[member_view("one-1")]))
    changed = (await socket.next())["changes"]
    assert not any(action["allowed"] for action in changed["actions"].values())


async def test_a_fact_beside_the_feed_brings_a_fresh_snapshot(listen, feed):
    feed.group(snapshot("shop"))
    socket = await listen(GROUP)
    await socket.next()
    await sync_to_async(control.group_changed)("local", "other")
    await sync_to_async(control.group_changed)("local", "shop")
    assert (await socket.next())["type"] == "snapshot"


async def test_it_is_hidden_from_whoever_may_not_see_the_group(listen, make_caller):
    narrow = await sync_to_async(make_caller)("admin", group_pattern="team-*")
    assert (await listen(GROUP, token=narrow.token)).close_code == live.NOT_FOUND
    assert (await listen("local/groups/team-a/", token=narrow.token)).close_code != live.NOT_FOUND


async def test_what_is_no_group_or_no_parameter_gets_no_socket(listen):
    assert (await listen("local/groups/~!/")).close_code == live.BAD_REQUEST
    assert (await listen(f"{GROUP}?colour=blue")).close_code == live.BAD_REQUEST


async def test_it_frees_its_place(listen):
    socket = await listen(GROUP)
    await socket.next()
    assert feed_of("local").hub.groups.keys() == {"shop"}
    await socket.leave()
    assert feed_of("local").hub.groups == {}


async def test_what_a_snapshot_tells_already_changes_nothing_again(listen, feed):
    feed.group(snapshot("shop"))
    socket = await listen(GROUP, alike=True)
    first = (await socket.next())["group"]
    (audience,) = feed_of("local").hub.groups["shop"].values()
    row = feed_of("local").index.rows["shop"]
    event = {"kind": "state_changed", "group_id": "shop"}
    for order, state in ((row.order, "Old"), ((row.order[0], row.order[1] + 1, 0), "New")):
        told = {"before": None, "after": row, "changes": {"state": state}, "order": order}
        audience.tell(Told(id="1-0", event=event, group_id="shop", **told))
    shown = [(await socket.next())["changes"] for _ in range(2)]
    assert first["state"] == "Empty" and shown == [{}, {"state": "New"}]


async def test_all_who_watch_a_group_are_told_the_same_with_their_own_actions(listen, feed, make_caller):
    feed.group(snapshot("shop"))
    viewer = await sync_to_async(make_caller)("read")
    sockets = [
        await listen(GROUP, alike=True),
        await listen(GROUP),
        await listen(GROUP, token=viewer.token, alike=True),
    ]
    for socket in sockets:
        await socket.next()
    assert sorted(len(one.subscriptions) for one in feed_of("local").hub.groups["shop"].values()) == [1, 2]
    feed.group(snapshot("shop", members=[member_view("one-1")]))
    told = [await socket.next() for socket in sockets]
    assert told[0] == told[1]
    allowed = [one["changes"].pop("actions")["remove_member"]["allowed"] for one in told]
    assert allowed == [True, True, False] and told[0] == told[2]
