"""offsets.live: an armed reset is carried out at once when the feed tells that its group emptied."""

from __future__ import annotations

import asyncio

from asgiref.sync import sync_to_async

from groups.feeds import feed_of, running_feeds
from groups.testing.feed import member_view, snapshot
from groups.testing.fixtures import CLUSTER
from offsets.models import ResetPlan

PLANS = f"{CLUSTER}/groups/shop/reset-plans/"


async def test_it_is_carried_out_at_once(async_db, world, api):
    world.topic("orders", 10)
    world.group("shop", {("orders", 0): 4}, members=[member_view("one-1", {"orders": [0]})])
    call = sync_to_async(api)
    plan = await call("POST", PLANS, {"strategy": "earliest", "scope": {"all": True}}, expect=201)
    await call("POST", f"{PLANS}{plan['id']}/arm/")
    async with running_feeds():
        async with asyncio.timeout(10):
            while not feed_of("local").loaded:
                await asyncio.sleep(0.005)
        world.gateway.group("shop", {("orders", 0): 7})
        world.feed.group(snapshot("shop"), "state_changed", before="Stable", after="Empty")
        async with asyncio.timeout(10):
            while (await ResetPlan.objects.aget()).status != "applied":
                await asyncio.sleep(0.01)
    assert world.gateway.offsets("shop")["orders", 0].offset == 0
