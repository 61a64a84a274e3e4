"""One decision is one record, and nothing is told that a restart would forget. (docs/decisions/0033)"""

from __future__ import annotations

from kaas.coordinator.records import ConsumerGroupChanged
from tests.support.consumers import Consumer, Consumers


def records(consumers: Consumers) -> list[ConsumerGroupChanged]:
    return [record for _, record in consumers.journal.written if isinstance(record, ConsumerGroupChanged)]


def held(count: int = 1) -> tuple[Consumers, list[Consumer]]:
    """Members in a Stable group whose journal waits."""
    consumers = Consumers(t=2)
    members = consumers.settled(count, "t")
    consumers.journal.held = True
    return consumers, members


# Records


def test_a_decision_is_one_record_of_what_it_changed():
    consumers = Consumers(t=2)
    a = consumers.joined("t")
    b = consumers.joined("t")
    first, second = records(consumers)
    assert first.whole and [m.member_id for m in first.members] == [a.id]
    assert not second.whole and [m.member_id for m in second.members] == [b.id]
    assert (second.epoch, second.target_epoch, second.target_assignor) == (2, 2, "uniform")
    assert second.targets.keys() == {a.id, b.id}


def test_a_heartbeat_that_changes_nothing_writes_nothing():
    consumers = Consumers(t=2)
    a = consumers.joined("t")
    for _ in range(3):
        a.beats()
        a.acks()
        a.joins()
    assert len(records(consumers)) == 1


def test_who_goes_is_named_and_has_no_target():
    consumers = Consumers(t=2)
    a, _ = consumers.settled(2, "t")
    a.leaves()
    last = records(consumers)[-1]
    assert (last.gone, last.members, last.targets, last.epoch, last.target_epoch) == ([a.id], [], {}, 3, 2)


def test_the_record_says_since_when_the_group_has_its_state():
    consumers = Consumers(t=2)
    a = consumers.joined("t")
    since = consumers.wall_ms
    consumers.passes(1_000)
    a.beats(rack_id="r")
    assert records(consumers)[-1].at == since


def test_a_pattern_that_nobody_has_any_more_is_forgotten():
    consumers = Consumers(t1=1)
    a = consumers.joined(regex="t.")
    consumers.matches("t.", "t1")
    a.beats()
    a.beats(regex="")
    assert (records(consumers)[-1].regexes_gone, consumers.modern.regexes) == (["t."], {})


# In turn


def test_an_answer_comes_when_its_record_is_durable():
    consumers, _ = held()
    b = consumers.consumer("t")
    b.sends(epoch=0, topics=("t",), rebalance_timeout_ms=9, owned={})
    assert b.asked.waits
    consumers.writes()
    assert (b.asked.code, b.epoch) == (0, 2)


def test_what_changes_nothing_is_told_after_what_it_builds_on():
    consumers, (a, b) = held(2)
    first = a.sends(rack_id="r")
    second, third = a.sends(), b.sends()
    assert first.waits and second.waits and third.waits
    consumers.writes()
    assert (first.code, second.code, third.code) == (0, 0, 0)


def test_the_next_heartbeat_is_judged_by_what_was_decided_last():
    _, (a,) = held()
    a.sends(epoch=-1)
    assert a.beats(epoch=1) == 25


# When the disk refuses


def test_after_a_lost_record_everything_is_refused_until_the_whole_group_is_durable():
    consumers, (a, b) = held(2)
    lost, built_on = a.sends(rack_id="r"), a.sends()
    consumers.fails()
    assert (lost.code, built_on.code) == (15, 15)
    again = b.sends()
    assert again.waits
    consumers.writes()
    assert again.code == 0
    last = records(consumers)[-1]
    assert last.whole and [m.rack_id for m in last.members] == ["r", None]
    consumers.journal.held = False
    assert (a.beats(), b.beats(), len(records(consumers))) == (0, 0, len(records(consumers)))
    assert not consumers.modern.unsaved


def test_a_record_behind_a_lost_one_is_refused_although_it_is_durable():
    consumers, (a, b) = held(2)
    lost, next_one, follower = a.sends(rack_id="r"), b.sends(rack_id="s"), b.sends()
    consumers.fails(1)
    consumers.writes(1)
    assert (lost.code, next_one.code, follower.code) == (15, 15, 15)
    whole = a.sends()
    consumers.writes()
    assert whole.code == 0 and records(consumers)[-1].whole


def test_a_first_member_whose_record_was_lost_may_come_again():
    consumers = Consumers(t=1)
    consumers.journal.full = True
    a = consumers.consumer("t")
    assert a.joins() == 15
    consumers.journal.full = False
    assert (a.joins(), a.epoch, a.held) == (0, 1, {"t": (0,)})
    consumers.restarts()
    assert a.beats() == 0


def test_an_expiry_that_the_disk_refuses_counts_and_is_written_with_the_next_heartbeat():
    consumers = Consumers(t=2, config={"consumer_session_timeout_ms": 4_000})
    a, b = consumers.settled(2, "t")
    consumers.passes(3_000)
    a.beats()
    consumers.journal.full = True
    consumers.passes(1_000)
    assert a.beats() == 15
    consumers.journal.full = False
    assert (a.acks(topics=("t",), rebalance_timeout_ms=9), a.held, b.beats(epoch=2)) == (0, {"t": (0, 1)}, 25)
    consumers.restarts()
    assert (a.beats(), b.beats(epoch=2)) == (0, 25)


def test_who_waits_when_the_group_moves_is_sent_away():
    consumers, (a,) = held()
    asked = a.sends(rack_id="r")
    consumers.unloads()
    assert asked.code == 15
