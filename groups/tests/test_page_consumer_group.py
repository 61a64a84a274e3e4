"""The page of a consumer group (KIP-848): what each member has, gives up, gets and waits for."""

from __future__ import annotations

import pytest
from django.test import Client

from groups.history import history_write
from groups.testing.feed import rebalance_record
from groups.testing.pages import words
from groups.tests.consumer_world import away, checkout

GROUPS = "/clusters/local/groups/"


@pytest.fixture
def visit(admin_user):
    client = Client()
    client.force_login(admin_user)
    return lambda path: words(client.get(path))


def test_it_works(visit, world):
    checkout(world)
    page = visit(f"{GROUPS}checkout/")
    assert "Group epoch 6 Assignment epoch 6" in page and "Assignor uniform" in page
    assert "consumer 1 of 3 members on the classic protocol" in page
    assert "gives partitions up epoch 5 of 6" in page and "gives up orders 1–2" in page
    assert "waits for partitions epoch 6" in page and "waits for orders 1–2 from pod-1" in page
    assert "ord.* asks for range" in page and "b classic b-1" in page


def test_the_banner_says_who_holds_on_to_what_and_until_when(visit, world):
    checkout(world)
    assert (
        "Waiting for 2 of 3 pod-1 has not given up orders 1–2, and is removed when its rebalance timeout of 5 min ends."
        " And 1 more."
    ) in visit(f"{GROUPS}checkout/")


def test_one_that_is_away_is_named_with_the_end_of_its_session(visit, world):
    away(world)
    assert (
        "Reconciling pricing-0 is a static member between two lives; its partitions wait for it until its session of 45 s ends."
        in visit(f"{GROUPS}pricing/")
    )


def test_a_recorded_rebalance_speaks_of_epochs(visit, world):
    checkout(world)
    parts = [{"member_id": "a-1", "name": "a", "joined_ms": 80, "synced_ms": 80}]
    phases = [{"name": "assigning", "duration_ms": 20}, {"name": "reconciling", "duration_ms": 100}]
    world.feed.event(
        "checkout", "rebalance_completed", rebalance=rebalance_record(kind="consumer", phases=phases, parts=parts)
    )
    history_write("local")
    assert "epoch 1 → 2" in visit(f"{GROUPS}checkout/")
    page = visit(f"{GROUPS}checkout/rebalances/1/")
    assert "Epoch 1 → 2" in page and "assigning 20 ms" in page and "It waited for a, which let go after 80 ms" in page
