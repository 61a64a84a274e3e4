"""groups.hub."""

from __future__ import annotations

import asyncio
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups import hub as hub_module
from groups.hub import Audience, Batch, Hub, Subscription, Told
from groups.index import GroupIndex
from groups.query import GroupQuery
from groups.testing.feed import snapshot
from groups.watches import GroupWatch, ListWatch

EVERYTHING, SHOP, SHIP = ListWatch(GroupQuery()), GroupWatch("shop", None), GroupWatch("ship", None)


def told(stream_id="1-0", group_id="shop", row=None, **more):
    event = {"kind": "state_changed", "cluster": "local", "group_id": group_id}
    return Told(id=stream_id, event=event, group_id=group_id, before=None, after=row, **more)


def row_of(group_id="shop"):
    return GroupIndex().put(msgspec.json.encode(snapshot(group_id)))


async def ids(subscription, within_s=1):
    return [one.id for batch in await subscription.take(within_s) for one in batch.told]


@pytest.fixture
def hub():
    return Hub()


def joined(hub, watch, **more):
    subscription = Subscription(**more)
    hub.join(subscription, watch)
    return subscription


async def test_lists_are_told_everything_and_groups_their_own(hub):
    everything, shop, ship = joined(hub, EVERYTHING), joined(hub, SHOP), joined(hub, SHIP)
    hub.tell(told("1-0", "shop"))
    hub.tell(told("2-0", "ship"))
    assert await ids(everything) == ["1-0", "2-0"]
    assert await ids(shop) == ["1-0"]
    assert await ids(ship) == ["2-0"]
    assert hub.count() == 3 and hub.lists == {everything}


async def test_who_watches_the_same_is_handed_the_same_bytes(hub):
    one, two, other = joined(hub, EVERYTHING), joined(hub, ListWatch(GroupQuery())), joined(hub, SHOP)
    hub.tell(told())
    ((first,), (second,), (third,)) = [await subscription.take(1) for subscription in (one, two, other)]
    assert first is second and first.frames is second.frames
    assert third is not first


async def test_what_nobody_is_shown_is_not_handed_on(hub):
    stable = joined(hub, ListWatch(GroupQuery(states=frozenset({"Stable"}))))
    hub.tell(told(row=row_of()))
    assert await stable.take(0.01) == []


async def test_what_comes_while_an_audience_rests_is_one_batch(hub, monkeypatch):
    monkeypatch.setattr(hub_module, "REST_PER_SOCKET_S", 0.05)
    one = joined(hub, EVERYTHING)
    hub.tell(told("1-0"))
    assert await ids(one) == ["1-0"]
    for number in range(2, 5):
        hub.tell(told(f"{number}-0"))
        await asyncio.sleep(0)
    (batch,) = await one.take(5)
    assert [each.id for each in batch.told] == ["2-0", "3-0", "4-0"]


async def test_lists_rest_longer_the_more_there_are_and_never_too_long(hub, monkeypatch):
    loop, rests = asyncio.get_running_loop(), []
    monkeypatch.setattr(loop, "call_later", lambda delay, act: rests.append(delay) or act())
    monkeypatch.setattr(loop, "time", lambda: 1.0)
    for states in ({"Stable"}, set()):
        joined(hub, ListWatch(GroupQuery(states=frozenset(states))))
    for number in range(3):
        hub.tell(told(f"{number}-0", row=row_of()))
    assert rests == [0.0, pytest.approx(2 * hub_module.REST_PER_SOCKET_S), rests[1]]
    crowded = Audience(EVERYTHING, lambda: 10**6)
    crowded.tell(told())
    crowded.tell(told())
    assert rests[-1] == pytest.approx(hub_module.LONGEST_REST_S)


async def test_a_socket_that_does_not_read_is_lost_and_costs_nothing(hub):
    slow = Subscription(length=3)
    for number in range(5):
        slow.put(Batch(EVERYTHING, (told(f"{number}-0"),)))
    assert slow.lost == "overflow" and await slow.take(1) == []
    slow.put(Batch(EVERYTHING, (told("9-0"),)))
    assert await slow.take(0) == []
    slow.begin()
    slow.put(Batch(EVERYTHING, (told("10-0"),)))
    assert await ids(slow) == ["10-0"] and slow.lost is None


@given(sizes=st.lists(st.integers(1, 9), max_size=20), length=st.integers(1, 9))
async def test_a_queue_holds_all_in_order_or_nothing(sizes, length):
    subscription, batches = Subscription(length), []
    for size in sizes:
        batches.append(Batch(EVERYTHING, tuple(told(f"{len(batches)}-{n}") for n in range(size))))
        subscription.put(batches[-1])
    held = await subscription.take(0)
    assert held == ([] if subscription.lost else batches)
    assert (subscription.lost is None) == (len(batches) <= 1 or sum(sizes) <= length)


async def test_waiting_ends_with_nothing_when_nothing_comes():
    assert await Subscription().take(0) == []


async def test_waking_ends_a_wait_with_nothing():
    quiet = Subscription()
    quiet.wake()
    assert await quiet.take(10) == []


async def test_all_are_made_to_start_anew(hub):
    one, two = joined(hub, EVERYTHING), joined(hub, SHOP)
    hub.lose_all("resync")
    assert one.lost == two.lost == "resync"


async def test_leaving_twice_does_no_harm_and_frees_what_was_kept(hub):
    one, other = joined(hub, SHOP), joined(hub, EVERYTHING)
    hub.described["shop"] = {"state": "Stable"}
    for _ in range(2):
        hub.leave(one, SHOP)
        hub.leave(one, EVERYTHING)
        assert hub.count() == 1 and hub.groups == {} and hub.described == {}
        assert hub.lists == {other}
    hub.leave(other, EVERYTHING)
    assert hub.count() == 0


async def test_a_group_is_watched_until_the_last_one_leaves(hub):
    viewer = GroupWatch("shop", "may only look")
    one, two = joined(hub, SHOP), joined(hub, viewer)
    hub.described["shop"] = {"state": "Stable"}
    hub.leave(one, SHOP)
    assert hub.described and list(hub.groups["shop"]) == [viewer]
    hub.leave(two, viewer)
    assert hub.groups == {} and hub.described == {}


async def test_who_left_is_not_told_what_waited(hub):
    one, two = joined(hub, EVERYTHING), joined(hub, EVERYTHING)
    hub.tell(told())
    hub.leave(one, EVERYTHING)
    assert await ids(two) == ["1-0"] and await ids(one, 0) == []


async def test_heartbeats_reach_who_watches_the_group(hub):
    one = joined(hub, SHOP)
    hub.pulse({"shop": {"m": 1}, "ship": {"m": 2}})
    hub.pulse({"shop": {"n": 3}})
    assert one.heartbeats == {"m": 1, "n": 3}


def test_a_message_for_lists_carries_the_row_and_is_encoded_once():
    message = told(row=row_of())
    assert json.loads(message.list_text)["item"]["group_id"] == "shop"
    assert message.list_text is message.list_text
    assert json.loads(told().list_text)["item"] is None


def test_a_batch_knows_the_last_row_of_each_group_and_its_oldest_change():
    row = row_of()
    batch = Batch(SHOP, (told(changes={"a": 1}, order=(1, 2, 0)), told(order=(1, 1, 0)), told("2-0", "ship", row)))
    assert batch.rows == {"shop": None, "ship": row} and batch.oldest == (1, 2, 0)
    assert Batch(SHOP, (told(),)).oldest is None


def test_a_batch_is_looked_at_again_for_who_watches_something_else_by_now():
    batch = Batch(EVERYTHING, (told("1-0", "shop"), told("2-0", "ship")))
    assert batch.seen_by(ListWatch(GroupQuery())) is batch
    assert [one.id for one in batch.seen_by(SHIP).told] == ["2-0"]


def test_a_batch_leaves_out_what_was_told_before():
    batch = Batch(EVERYTHING, tuple(told(f"{n}-0") for n in (1, 2, 10)))
    assert batch.after((0, 9)) is batch
    assert [one.id for one in batch.after((2, 0)).told] == ["10-0"] and batch.after((10, 0)).told == ()
