"""Publications: snapshot plus events equals a fresh snapshot, whatever happened and however it was gathered."""

from __future__ import annotations

import random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from kaas.coordinator.announcements import Announcement
from kaas.feed.backlog import Backlog
from kaas.feed.publication import Press, Publication
from kaas.feed.types import KINDS, apply
from tests.feed.driver import WALL_OFFSET_MS, Driver

GROUPS = ("g", "a/b é")


class Ends:
    def ends_of(self, topic: str, partition: int) -> tuple[int, int, int] | None:
        return None if partition == 9 else (0, 100 + partition, 100)


class Feed:
    """A driver with a press behind it, and a reader who has only events."""

    def __init__(self) -> None:
        self.backlog = Backlog()
        self.driver = Driver(self.heard)
        core = self.driver.core
        self.press = Press(cluster="local", coordinator=1, epoch=1, groups=core.groups, ends=Ends(), topics=core.topics)
        self.seen: dict[str, dict[str, Any] | None] = {}
        self.hash: dict[str, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []

    def heard(self, group_id: str, what: Announcement) -> None:
        self.backlog.add(group_id, self.driver.now_ms + WALL_OFFSET_MS, what)

    def publish(self) -> None:
        while taken := self.backlog.take(1, lazy=True):
            group_id, changes = taken[0]
            self.take(self.press.publish(group_id, changes, self.driver.now_ms, WALL_OFFSET_MS))

    def take(self, made: Publication) -> None:
        for text in made.events:
            event = msgspec.json.decode(text)
            self.events.append(event)
            self.seen[made.group_id] = apply(self.seen.get(made.group_id), event)
        if made.snapshot is None:
            self.hash.pop(made.group_id, None)
        else:
            self.hash[made.group_id] = msgspec.json.decode(made.snapshot)

    def fresh(self, group_id: str) -> dict[str, Any]:
        group = self.driver.core.groups[group_id]
        snapshot = self.press.snapshot(group, WALL_OFFSET_MS, self.driver.now_ms + WALL_OFFSET_MS)
        return msgspec.to_builtins(snapshot)


def without_moments(snapshot: dict[str, Any] | None) -> dict[str, Any] | None:
    """A snapshot without what is only as old as its publication: its own time, and heartbeats, which the pulse carries."""
    if snapshot is None:
        return None
    members = {m: {k: v for k, v in row.items() if k != "last_heartbeat_at"} for m, row in snapshot["members"].items()}
    return {**{k: v for k, v in snapshot.items() if k not in ("at", "version")}, "members": members}


def random_step(feed: Feed, dice: random.Random, number: int) -> None:
    """Something a client, an operator or time does."""
    driver, group_id = feed.driver, dice.choice(GROUPS)
    group = driver.core.groups.get(group_id)
    members = list(group.classic.members) if group is not None else []
    someone = dice.choice(members) if members else ""
    offsets = {("t", dice.randrange(4)): number, ("u/x", 9): number}
    step = dice.randrange(10)
    if step <= 1:
        driver.join(f"j{number}", group_id, topics=dice.choice([("t",), ("t", "u/x")]))
    elif step == 2 and someone:
        driver.join(f"j{number}", group_id, someone, topics=dice.choice([("t",), ("t", "u/x")]))
    elif step in (3, 4) and group is not None and group.classic.leader:
        shares = {m: {"t": (n,)} for n, m in enumerate(members)}
        driver.sync(f"s{number}", group_id, dice.choice([group.classic.leader, someone]), shares)
    elif step == 5 and someone:
        driver.leave(group_id, someone)
    elif step == 6:
        driver.commit(group_id, offsets)
    elif step == 7 and someone and group is not None:
        driver.commit(group_id, offsets, someone, group.classic.generation)
    elif step == 8:
        driver.pass_ms(dice.choice([10, 4_000, 11_000, 31_000]))
    elif step == 9:
        dice.choice(
            [lambda: driver.delete_offsets(group_id, ("u/x", 9), ("t", 1)), lambda: driver.delete_group(group_id)]
        )()


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 2**32), publish_each=st.integers(1, 6))
def test_snapshot_plus_events_equals_a_fresh_snapshot(seed: int, publish_each: int) -> None:
    feed, dice = Feed(), random.Random(seed)
    for number in range(60):
        random_step(feed, dice, number)
        if number % publish_each == 0:
            feed.publish()
    feed.publish()
    for group_id in GROUPS:
        there = group_id in feed.driver.core.groups
        known = there and group_id in feed.press.known
        assert without_moments(feed.seen.get(group_id)) == (without_moments(feed.fresh(group_id)) if known else None)
        assert without_moments(feed.hash.get(group_id)) == without_moments(feed.seen.get(group_id))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 2**32), cut=st.integers(0, 59))
def test_a_reader_that_begins_anywhere_with_the_hash_ends_with_the_same(seed: int, cut: int) -> None:
    feed, dice = Feed(), random.Random(seed)
    late: dict[str, dict[str, Any] | None] = {}
    begun = 0
    for number in range(60):
        random_step(feed, dice, number)
        feed.publish()
        if number == cut:
            late, begun = dict(feed.hash), max(len(feed.events) - 5, 0)  # the stream is read from before the hash on
    for event in feed.events[begun:]:
        late[event["group_id"]] = apply(late.get(event["group_id"]), event)
    assert {g: without_moments(s) for g, s in late.items() if s} == {
        g: without_moments(s) for g, s in feed.seen.items() if s
    }


def stable(feed: Feed, group_id: str = "g") -> str:
    feed.driver.join("j", group_id)
    member_id = feed.driver.replies["j"].member_id
    feed.driver.sync("s", group_id, member_id, {member_id: {"t": (0, 1)}})
    return member_id


def test_a_rebalance_is_told_with_its_cause_its_phases_and_what_moved() -> None:
    feed = Feed()
    member_id = stable(feed)
    feed.publish()
    done = next(e for e in feed.events if e["kind"] == "rebalance_completed")["rebalance"]
    assert done["cause"] == "member_joined" and done["member_id"] == member_id and done["outcome"] == "stable"
    assert [p["name"] for p in done["phases"]] == ["joining", "syncing"]
    assert done["moved"] == [
        {"topic": "t", "partition": p, "from": None, "to": member_id, "without_ms": None} for p in (0, 1)
    ]
    assert (done["generation_before"], done["generation_after"], done["members_after"]) == (0, 1, 1)


def test_every_kind_that_is_told_is_one_that_readers_know() -> None:
    feed, dice = Feed(), random.Random(1)
    for number in range(3_000):
        random_step(feed, dice, number)
        feed.publish()
    assert {e["kind"] for e in feed.events} <= set(KINDS)


def test_versions_grow_with_each_event() -> None:
    feed = Feed()
    stable(feed)
    feed.driver.commit("g", {("t", 0): 5}, feed.driver.replies["j"].member_id, 1)
    feed.publish()
    versions = [e["version"] for e in feed.events]
    assert versions == sorted(set(versions))


def test_many_commits_are_told_once() -> None:
    feed = Feed()
    for offset in range(20):
        feed.driver.commit("s", {("t", 0): offset, ("t", 1): offset})
    feed.publish()
    told = [e for e in feed.events if e["kind"] == "offsets_committed"]
    assert [(e["topics"], e["count"]) for e in told] == [(["t"], 20)]
    assert feed.seen["s"]["offsets"]["t/1"]["committed"] == 19


def test_a_resync_carries_the_whole_group_or_its_end() -> None:
    feed = Feed()
    stable(feed)
    feed.take(feed.press.resync("g", feed.driver.now_ms, WALL_OFFSET_MS))
    assert feed.events[-1]["kind"] == "resync" and feed.seen["g"]["state"] == "Stable"
    feed.take(feed.press.resync("never", feed.driver.now_ms, WALL_OFFSET_MS))
    assert feed.events[-1]["kind"] == "group_deleted" and feed.seen["never"] is None


def test_a_group_deleted_and_made_again_between_two_publications_is_whole() -> None:
    feed = Feed()
    feed.driver.commit("s", {("t", 0): 1, ("t", 1): 1})
    feed.publish()
    feed.driver.delete_group("s")
    feed.driver.commit("s", {("t", 0): 2})
    feed.publish()
    assert list(feed.seen["s"]["offsets"]) == ["t/0"]


def test_a_rebalance_is_told_with_what_each_member_did() -> None:
    feed = Feed()
    feed.driver.join("one", "g")
    feed.driver.pass_ms(4_000)
    feed.publish()
    (one,) = feed.driver.core.groups["g"].classic.members
    feed.driver.sync("s", "g", one, {one: {"t": (0,)}})
    feed.publish()
    first = next(event["rebalance"] for event in feed.events if event["kind"] == "rebalance_completed")
    assert [(part["member_id"], part["name"], part["joined_ms"]) for part in first["parts"]] == [(one, "c", 0)]
    assert feed.press.accounts == {}
    feed.driver.join("two", "g")
    feed.driver.pass_ms(700)
    feed.driver.join("again", "g", one)
    assert feed.press.accounts == {}
    feed.publish()
    assert feed.press.accounts["g"].came.keys() == set(feed.driver.core.groups["g"].classic.members)
    feed.driver.leave("g", one)
    feed.publish()
    second = [event["rebalance"] for event in feed.events if event["kind"] == "rebalance_completed"][-1]
    by_name = {part["member_id"]: part for part in second["parts"]}
    assert by_name[one]["joined_ms"] == 700
