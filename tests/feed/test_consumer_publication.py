"""Publications of consumer groups: snapshot plus events equals a fresh snapshot, and a rebalance is told from end to end."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kaas.coordinator import events
from kaas.coordinator.modern.group import ModernGroup
from kaas.coordinator.topics import Partitions
from kaas.feed.types import CAUSES, KINDS
from tests.feed.test_publication import Feed, without_moments

GROUP = "g"


class Clients:
    """The members of one group as their clients know themselves: epoch, and what they hold."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self.epochs: dict[str, int] = {}
        self.held: dict[str, Partitions] = {}
        feed.driver.topic("t", 3)
        feed.driver.topic("u", 2)

    @property
    def modern(self) -> ModernGroup | None:
        group = self.feed.driver.core.groups.get(GROUP)
        return None if group is None else group.modern

    def beat(self, member_id: str, epoch: int | None = None, **more: Any) -> None:
        """A heartbeat, and what it teaches the client. One that is refused joins anew at its next."""
        sent = self.epochs.get(member_id, 0) if epoch is None else epoch
        answer = self.feed.driver.beat(GROUP, member_id, sent, **more)
        if answer.code or sent < 0:
            self.epochs.pop(member_id, None)
            self.held.pop(member_id, None)
            return
        self.epochs[member_id] = answer.epoch
        if answer.assignment is not None:
            self.held[member_id] = answer.assignment

    def ack(self, member_id: str) -> None:
        """A heartbeat that names what the member holds."""
        self.beat(member_id, owned=self.held.get(member_id, {}))

    def settle(self, *member_ids: str) -> None:
        for _ in range(6):
            for member_id in member_ids:
                self.ack(member_id)


def random_step(clients: Clients, dice: random.Random, number: int) -> None:
    """Something a client, an operator or time does."""
    dice.choice([member_step, member_step, member_step, world_step, classic_step])(clients, dice, number)


def member_step(clients: Clients, dice: random.Random, number: int) -> None:
    """A member under KIP-848 comes, acknowledges, wants something else, commits or goes."""
    someone = dice.choice(list(clients.epochs)) if clients.epochs else ""
    step = dice.randrange(9)
    if step <= 1 or not someone:
        static = {"instance_id": f"i{dice.randrange(2)}"} if dice.random() < 0.4 else {}
        wish = dice.choice([{}, {"topics": ("t", "u")}, {"topics": (), "regex": "t|u"}, {"assignor": "range"}])
        clients.beat(f"m{number}", 0, **static, **wish)
    elif step <= 5:
        clients.ack(someone)
    elif step == 6:
        clients.beat(someone, topics=dice.choice([("t",), ("u",), ("t", "u")]))
    elif step == 7:
        member = clients.modern.members.get(someone) if clients.modern else None
        instance = member.instance_id if member else None
        clients.beat(someone, -2 if instance and dice.random() < 0.7 else -1, instance_id=instance)
    else:
        clients.feed.driver.commit(GROUP, {("t", dice.randrange(3)): number}, someone, clients.epochs[someone])


def world_step(clients: Clients, dice: random.Random, number: int) -> None:
    """Time passes, a topic comes, grows or goes, an operator removes a member or deletes the group."""
    driver = clients.feed.driver
    someone = dice.choice(list(clients.epochs)) if clients.epochs else ""
    known = driver.core.topics.by_name.get("u")
    step = dice.randrange(4)
    if step <= 1:
        driver.pass_ms(dice.choice([10, 4_000, 31_000, 46_000]))
    elif step == 2 and known is not None and dice.random() < 0.4:
        driver.send(events.TopicDeleted(topic="u"))
    elif step == 2:
        driver.topic("u", known.partitions + 1 if known else 2)
    elif someone:
        dice.choice([lambda: driver.leave(GROUP, someone), lambda: driver.delete_group(GROUP)])()


def classic_step(clients: Clients, dice: random.Random, number: int) -> None:
    """A member of the classic protocol comes, comes back, asks for its share, beats or goes; the group may change its type."""
    driver = clients.feed.driver
    group = driver.core.groups.get(GROUP)
    if group is None or group.modern is None:
        there = {} if group is None else dict.fromkeys(group.classic.members, group.classic.generation)
    else:
        there = {one.member_id: one.epoch for one in group.modern.members.values() if one.classic is not None}
    someone = dice.choice(list(there)) if there else ""
    step = dice.randrange(5)
    if step == 0 or not there:
        driver.join(f"c{number}", GROUP, topics=dice.choice([("t",), ("t", "u")]))
    elif step == 1:
        driver.join(f"c{number}", GROUP, someone, topics=dice.choice([("t",), ("t", "u")]))
    elif step == 2:
        driver.sync(f"s{number}", GROUP, someone, {one: {"t": (at,)} for at, one in enumerate(there)}, there[someone])
    elif step == 3:
        driver.classic_beat(GROUP, someone, there[someone])
    else:
        driver.leave(GROUP, someone)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), publish_each=st.integers(1, 6))
def test_snapshot_plus_events_equals_a_fresh_snapshot(seed: int, publish_each: int) -> None:
    feed, dice = Feed(), random.Random(seed)
    clients = Clients(feed)
    for number in range(80):
        random_step(clients, dice, number)
        if number % publish_each == 0:
            feed.publish()
            there = GROUP in feed.driver.core.groups
            assert without_moments(feed.seen.get(GROUP)) == (without_moments(feed.fresh(GROUP)) if there else None)
    feed.publish()
    assert without_moments(feed.hash.get(GROUP)) == without_moments(feed.seen.get(GROUP))


def test_every_kind_and_cause_that_is_told_is_one_that_readers_know() -> None:
    feed, dice = Feed(), random.Random(1)
    clients = Clients(feed)
    for number in range(3_000):
        random_step(clients, dice, number)
        feed.publish()
    assert {event["kind"] for event in feed.events} <= set(KINDS)
    assert {event["cause"] for event in feed.events if "cause" in event} <= set(CAUSES)
    ended = [event["rebalance"] for event in feed.events if event["kind"] == "rebalance_completed"]
    modern = [one for one in ended if one["kind"] == "consumer"]
    assert len(modern) > 50 and {one["outcome"] for one in modern} == {"stable", "empty", "superseded"}
    assert {one["kind"] for one in ended} == {"consumer", "classic"}


def test_a_rebalance_is_told_with_its_phases_who_let_go_when_and_what_moved() -> None:
    feed = Feed()
    clients = Clients(feed)
    clients.beat("a", 0)
    feed.publish()
    clients.beat("b", 0)
    feed.driver.pass_ms(300)
    clients.beat("a")
    feed.publish()
    shown = feed.seen[GROUP]
    assert shown is not None and (shown["state"], shown["group_epoch"], shown["assignment_epoch"]) == (
        "Reconciling",
        2,
        2,
    )
    assert [(one["member_id"], one["timer"]) for one in shown["rebalance"]["waiting_for"]] == [("a", "revocation")]
    assert (shown["members"]["a"]["state"], shown["members"]["b"]["state"]) == ("revoking", "waiting")
    feed.driver.pass_ms(500)
    clients.ack("a")
    feed.driver.pass_ms(100)
    clients.beat("b")
    feed.publish()
    done = [event["rebalance"] for event in feed.events if event["kind"] == "rebalance_completed"][-1]
    assert (done["kind"], done["cause"], done["member_id"]) == ("consumer", "member_joined", "b")
    assert (done["generation_before"], done["generation_after"]) == (1, 2)
    assert [(phase["name"], phase["duration_ms"]) for phase in done["phases"]][-1] == ("reconciling", 900)
    assert [(one["from"], one["to"], one["without_ms"]) for one in done["moved"]] == [("a", "b", 100)]
    parts = {part["member_id"]: (part["joined_ms"], part["synced_ms"]) for part in done["parts"]}
    assert parts == {"a": (800, 800), "b": (0, 900)}
    assert feed.seen[GROUP]["state"] == "Stable" and feed.press.accounts == {}
