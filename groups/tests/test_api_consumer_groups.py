"""Consumer groups (KIP-848) in the API: both epochs, what members give up, get and wait for, what may be done."""

from __future__ import annotations

from groups.testing.fixtures import CLUSTER
from groups.tests.consumer_world import away, checkout, settled

GROUP = f"{CLUSTER}/groups/checkout/"


def test_it_works(api, world):
    """Elsewhere a group under KIP-848 was shown as Dead.

    https://github.com/tchiotludo/akhq/issues/2720
    https://github.com/redpanda-data/console/issues/1815
    """
    checkout(world)
    row = api("GET", GROUP)
    assert (row["state"], row["type"], row["protocol"]) == ("Reconciling", "consumer", "uniform")
    assert (row["group_epoch"], row["assignment_epoch"], row["classic_member_count"]) == (6, 6, 1)
    giver, legacy, taker = row["members"]
    assert (giver["state"], giver["epoch"], giver["gives_up"]) == (
        "revoking",
        5,
        [{"topic": "orders", "partitions": [1, 2]}],
    )
    assert taker["waits_for"] == [{"topic": "orders", "partitions": [1, 2], "member_id": "a-1", "name": "pod-1"}]
    assert (taker["gets"], taker["subscription_regex"], taker["server_assignor"]) == ([], "ord.*", "range")
    assert taker["target_assignment"] == [{"topic": "orders", "partitions": [1, 2]}] and taker["assignment"] == []
    assert (legacy["kind"], giver["kind"]) == ("classic", "consumer")


def test_the_phase_says_whom_it_waits_for_and_since_when(api, world):
    checkout(world)
    row = api("GET", GROUP)
    phase = row["phase"]
    assert (phase["name"], phase["waiting_count"]) == ("reconciling", 2)
    assert [(one["member_id"], one["timer"]) for one in phase["waiting_for"]] == [
        ("a-1", "revocation"),
        ("b-1", "heartbeat"),
    ]
    holder, told = phase["waiting_for"]
    assert holder["since"] == phase["since"] and told["since"] is None
    assert (row["rebalance"]["cause_text"], row["rebalance"]["generation_before"]) == ("c joined.", 5)


def test_classic_groups_have_none_of_it(api, world):
    world.group("checkout", {("orders", 0): 4})
    row = api("GET", GROUP)
    assert (row["group_epoch"], row["assignment_epoch"], row["classic_member_count"]) == (None, None, None)


def test_a_static_member_that_is_away_keeps_the_group_from_being_reset_or_deleted(api, world):
    """PROTOCOL 7.3.7 in docs/PROTOCOL.md: a member away with -2 counts as a member."""
    away(world)
    row = api("GET", f"{CLUSTER}/groups/pricing/")
    assert [one["timer"] for one in row["phase"]["waiting_for"]] == ["away"] and row["rebalance"] is None
    for action in ("reset", "delete"):
        told = row["actions"][action]
        assert told["allowed"] is False
        assert told["reason"].endswith(
            "pricing-0 is away: a static member stays in the group until its session of 45 s ends."
        )
    assert row["actions"]["remove_member"]["allowed"] and row["actions"]["arm_reset"]["allowed"]


def test_an_empty_one_may_be_reset_and_deleted(api, world):
    world.group("checkout", {("orders", 0): 4}, **settled())
    actions = api("GET", GROUP)["actions"]
    assert actions["reset"]["allowed"] and actions["delete"]["allowed"]


def test_the_list_is_filtered_by_type(api, world):
    checkout(world)
    world.group("old", {("orders", 0): 4})
    world.read()
    found = api("GET", f"{CLUSTER}/groups/?type=consumer")
    assert [(item["group_id"], item["type"], item["protocol"]) for item in found["items"]] == [
        ("checkout", "consumer", "uniform")
    ]


def test_a_member_is_removed_by_its_member_id_alone(api, world, monkeypatch):
    """LeaveGroup with an instance id finds classic members only.

    https://issues.apache.org/jira/browse/KAFKA-18188
    """
    checkout(world)
    asked = []
    remove = world.gateway.remove_member
    monkeypatch.setattr(
        world.gateway,
        "remove_member",
        lambda group, member, instance, why: asked.append(instance) or remove(group, member, instance, why),
    )
    assert api("DELETE", f"{GROUP}members/a-1/")["removed"] is True
    assert asked == [None]
