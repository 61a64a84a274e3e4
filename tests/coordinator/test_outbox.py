"""Effects in order, and what follows a record when it is durable or cannot be."""

from __future__ import annotations

from dataclasses import dataclass, field

from kaas.coordinator.announcements import GroupCreated
from kaas.coordinator.effects import Announce, CancelTimer, Persist, Reply, SetTimer
from kaas.coordinator.outbox import Outbox
from kaas.coordinator.records import GenerationReserved

RECORD = GenerationReserved(1)


@dataclass
class Told:
    """A follower that remembers what it was told."""

    words: list[str] = field(default_factory=list)

    def written(self, core, now_ms):
        self.words.append("written")

    def failed(self, core, now_ms):
        self.words.append("failed")


def test_effects_come_in_the_order_of_the_decisions_and_once():
    out = Outbox()
    out.epoch = 4
    out.reply("token", "answer")
    out.set_timer(("sync", "g"), 9)
    out.cancel_timer(("sync", "g"))
    out.persist("g", RECORD)
    out.announce("g", GroupCreated())
    assert out.take() == [
        Reply("token", "answer"),
        SetTimer(("sync", "g"), 9),
        CancelTimer(("sync", "g")),
        Persist(1, "g", 4, RECORD),
        Announce("g", GroupCreated()),
    ]
    assert out.take() == []


def test_records_get_numbers_one_by_one_and_settle_in_that_order():
    out = Outbox()
    for group_id in "abc":
        out.persist(group_id, RECORD)
    assert [row.seq for row in out.in_flight] == [1, 2, 3]
    assert [row.group_id for row in out.settle(2)] == ["a", "b"]
    assert out.settle(2) == []
    assert [row.group_id for row in out.settle(9)] == ["c"]


def test_a_second_follower_hears_of_the_same_record():
    out, told = Outbox(), Told()
    out.persist("g", RECORD, told)
    out.follow("g", told)
    out.persist("g", RECORD)
    rows = out.settle(1)
    assert [row.follower for row in rows] == [told, told]
    assert [row.record for row in rows] == [RECORD, None]


def test_what_is_disowned_is_not_applied_and_its_followers_are_given_back():
    out, mine, other = Outbox(), Told(), Told()
    out.persist("gone", RECORD, mine)
    out.persist("other", RECORD, other)
    out.persist("gone", RECORD)
    assert out.disown("gone") == [mine]
    assert [(row.record, row.follower) for row in out.settle(3)] == [(None, None), (RECORD, other), (None, None)]


def test_groups_in_flight_are_those_whose_state_is_about_to_change():
    out = Outbox()
    out.persist("a", RECORD)
    out.persist("b", RECORD)
    out.follow("b", Told())
    assert out.groups_in_flight() == {"a", "b"}
    out.disown("a")
    assert out.groups_in_flight() == {"b"}
    out.settle(2)
    assert out.groups_in_flight() == frozenset()
