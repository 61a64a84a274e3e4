"""groups.hub."""

from __future__ import annotations

import json

import msgspec
import pytest

from groups.hub import Hub, Subscription, Told
from groups.index import GroupIndex
from groups.testing.feed import snapshot


def told(stream_id="1-0", group_id="shop", row=None):
    event = {"kind": "state_changed", "cluster": "local", "group_id": group_id}
    return Told(id=stream_id, event=event, group_id=group_id, before=None, after=row)


@pytest.fixture
def hub():
    return Hub()


async def test_lists_are_told_everything_and_groups_their_own(hub):
    everything, shop, ship = Subscription(), Subscription(), Subscription()
    hub.join(everything, None)
    hub.join(shop, "shop")
    hub.join(ship, "ship")
    hub.tell(told("1-0", "shop"))
    hub.tell(told("2-0", "ship"))
    assert [one.id for one in await everything.take(1)] == ["1-0", "2-0"]
    assert [one.id for one in await shop.take(1)] == ["1-0"]
    assert [one.id for one in await ship.take(1)] == ["2-0"]
    assert hub.count() == 3


async def test_a_socket_that_does_not_read_is_lost_and_costs_nothing(hub):
    slow = Subscription(length=3)
    hub.join(slow, None)
    for number in range(5):
        hub.tell(told(f"{number}-0"))
    assert slow.lost == "overflow" and await slow.take(1) == []
    hub.tell(told("9-0"))
    assert await slow.take(0) == []
    slow.begin()
    hub.tell(told("10-0"))
    assert [one.id for one in await slow.take(1)] == ["10-0"] and slow.lost is None


async def test_waiting_ends_with_nothing_when_nothing_comes():
    assert await Subscription().take(0) == []


async def test_waking_ends_a_wait_with_nothing():
    quiet = Subscription()
    quiet.wake()
    assert await quiet.take(10) == []


async def test_all_are_made_to_start_anew(hub):
    one, two = Subscription(), Subscription()
    hub.join(one, None)
    hub.join(two, "shop")
    hub.lose_all("resync")
    assert one.lost == two.lost == "resync"


async def test_leaving_twice_does_no_harm_and_frees_what_was_kept(hub):
    one = Subscription()
    hub.join(one, "shop")
    hub.described["shop"] = {"state": "Stable"}
    hub.leave(one, "shop")
    hub.leave(one, "shop")
    hub.leave(one, None)
    assert hub.count() == 0 and hub.groups == {} and hub.described == {}


async def test_heartbeats_reach_who_watches_the_group(hub):
    one = Subscription()
    hub.join(one, "shop")
    hub.pulse({"shop": {"m": 1}, "ship": {"m": 2}})
    hub.pulse({"shop": {"n": 3}})
    assert one.heartbeats == {"m": 1, "n": 3}


def test_a_message_for_lists_carries_the_row_and_is_encoded_once():
    index = GroupIndex()
    row = index.put(msgspec.json.encode(snapshot("shop")))
    message = told(row=row)
    assert json.loads(message.list_text)["item"]["group_id"] == "shop"
    assert message.list_text is message.list_text
    assert json.loads(told().list_text)["item"] is None
