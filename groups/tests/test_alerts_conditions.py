"""groups.alerts.conditions."""

from __future__ import annotations

import msgspec
import pytest

from groups.alerts.conditions import Condition, found
from groups.choices import AlertKind
from groups.index import GroupIndex
from groups.testing.feed import member_view, offset_view, snapshot
from kaas.feed.types import TopicView

NOW = 1_800_000_000_000
MINUTE = 60_000


def row(committed=None, log_end=1_500, members=1, committed_at=NOW):
    index = GroupIndex()
    view = TopicView(topic="orders", topic_id=None, at=NOW, partitions=[(0, log_end, log_end)])
    index.topic("orders", msgspec.json.encode(view))
    held = {} if committed is None else {("orders", 0): offset_view(committed, committed_at=committed_at)}
    views = [member_view(f"m-{n}") for n in range(members)]
    return index.put(msgspec.json.encode(snapshot("shop", members=views, offsets=held)))


def asked(kind, **more):
    return lambda row, flaps=None, now=NOW: found(Condition(kind=kind, **more), row, flaps or {}, now)


def test_lag_at_or_above_the_threshold():
    lag = asked(AlertKind.LAG, threshold=1_000)
    assert lag(row(300)) == "1,200 records wait; the rule says 1,000 or more."
    assert lag(row(500)) is not None and lag(row(501)) is None
    assert lag(row(None)) is None, "what is not known wakes nobody"
    assert asked(AlertKind.LAG, threshold=1)(row(1_499)).startswith("1 record waits;")


def test_a_status_with_its_reason():
    stopped = asked(AlertKind.LAG_STATUS, statuses=frozenset({"stopped", "rewind"}))
    assert stopped(row(3, members=0)) == "Stopped: Records wait, and the group has no members."
    assert stopped(row(1_500, members=0)) is None


def test_what_flaps():
    flapping = asked(AlertKind.FLAPPING)
    assert flapping(row(), {"shop": "3 of the last 4"}) == "3 of the last 4"
    assert flapping(row(), {"other": "3 of the last 4"}) is None


def test_too_few_members_and_none():
    few = asked(AlertKind.MEMBER_LOSS, threshold=3)
    assert few(row(members=2)) == "2 members; the rule asks for 3."
    assert few(row(members=1)).startswith("1 member;") and few(row(members=3)) is None
    none = asked(AlertKind.NO_MEMBERS)
    assert none(row(members=0)) == "The group is Empty and has no members." and none(row()) is None


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        ({"committed": 5, "committed_at": NOW - 5 * MINUTE}, True),
        ({"committed": 5, "committed_at": NOW - 5 * MINUTE + 1}, False),
        ({"committed": 1_500, "committed_at": NOW - 5 * MINUTE}, False),
        ({"committed": 5, "committed_at": NOW - 5 * MINUTE, "members": 0}, False),
        ({"committed": None}, False),
    ],
)
def test_no_commits_where_somebody_could_and_something_waits(given, holds):
    told = asked(AlertKind.NO_COMMITS, for_ms=5 * MINUTE)(row(**given))
    assert told == ("Nothing was committed for 5 min while 1,495 records wait." if holds else None)


def test_the_age_of_a_commit_is_no_further_wait():
    assert Condition(kind=AlertKind.NO_COMMITS, for_ms=5).waits_ms == 0
    assert Condition(kind=AlertKind.LAG, for_ms=5).waits_ms == 5
