"""A consumer group in the middle of a rebalance, for tests of pages and API."""

from __future__ import annotations

from typing import Any

from groups.testing.feed import consumer_group, consumer_member
from groups.testing.fixtures import World
from groups.times import now_ms
from kaas.feed.types import MemberView, Phase, RebalanceView, WaitingFor


def settled(*members: MemberView, **more: Any) -> dict[str, Any]:
    """What World.group takes of a consumer group."""
    made = consumer_group("any", *members, **more)
    fields = {
        name: getattr(made, name) for name in made.__struct_fields__ if name not in ("group_id", "offsets", "members")
    }
    return {**fields, "members": list(made.members.values())}


def checkout(world: World) -> None:
    """The group `checkout`: `pod-1` gives up two partitions that `c` waits for; a classic member is not told yet."""
    now = now_ms()
    world.topic("orders", 10, 10, 10, 10)
    giver = consumer_member(
        "a-1", {"orders": [0]}, revoking={"orders": [1, 2]}, instance_id="pod-1", state="revoking", epoch=5
    )
    taker = consumer_member(
        "c-1", {}, target={"orders": [1, 2]}, state="waiting", subscription_regex="ord.*", server_assignor="range"
    )
    legacy = consumer_member("b-1", {"orders": [3]}, state="behind", epoch=5, kind="classic")
    rebalance = RebalanceView(
        started_at=now - 2_000,
        cause="member_joined",
        member_id="c-1",
        detail={"client_id": "c"},
        also=[],
        phase="reconciling",
        phase_since=now - 1_900,
        phases=[Phase(name="assigning", duration_ms=100)],
        waiting_for=[
            WaitingFor(
                member_id="a-1", client_id="a", timer="revocation", since=now - 1_900, deadline_at=now + 298_100
            ),
            WaitingFor(member_id="b-1", client_id="b", timer="heartbeat", deadline_at=None),
        ],
        waiting_count=2,
        generation_before=5,
        members_before=2,
    )
    world.group(
        "checkout", {("orders", 0): 4}, **settled(giver, taker, legacy, state="Reconciling", rebalance=rebalance)
    )
    world.read()


def away(world: World) -> None:
    """The group `pricing`: its only member, a static one, is between two lives."""
    member = consumer_member("p-1", {"orders": [0]}, instance_id="pricing-0", state="away", epoch=-2)
    world.group("pricing", {("orders", 0): 4}, **settled(member, state="Reconciling"))
    world.read()
