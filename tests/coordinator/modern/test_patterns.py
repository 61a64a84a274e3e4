"""Patterns: what can be one, and when a group's are matched."""

from __future__ import annotations

import pytest

from kaas.coordinator.announcements import RebalanceStarted
from kaas.coordinator.effects import ResolveRegexes
from kaas.coordinator.events import RegexesResolved
from kaas.coordinator.modern import patterns
from kaas.coordinator.modern.group import Member, ModernGroup, ResolvedRegex
from kaas.coordinator.modern.patterns import REST_MS, after_heartbeat
from kaas.coordinator.topics import Topic
from tests.support.consumers import Consumers
from tests.support.groups import GROUP, Groups

REFRESH_MS = 600_000


def member(name: str, regex: str = "") -> Member:
    about = {"client_id": "c", "client_host": "/127.0.0.1", "rebalance_timeout_ms": 9}
    return Member(member_id=name, regex=regex, **about)


class World:
    """A group whose members have patterns, and a clock."""

    def __init__(self, *regexes: str) -> None:
        self.core = Groups().core
        self.core.out.take()
        self.group = ModernGroup(group_id=GROUP)
        self.now_ms = 1_000
        for number, regex in enumerate(regexes):
            self.group.put(member(f"m{number}", regex))

    def beats(self, after_ms: int = 0, may_describe=None) -> tuple[str, ...]:
        """The patterns that a heartbeat asks to be matched."""
        self.now_ms += after_ms
        after_heartbeat(self.core, self.group, may_describe, self.now_ms)
        asked = [effect for effect in self.core.out.take() if isinstance(effect, ResolveRegexes)]
        assert len(asked) <= 1 and all(effect.may_describe is may_describe for effect in asked)
        return asked[0].patterns if asked else ()

    def resolves(self, *regexes: str) -> None:
        self.group.matching = False
        for regex in regexes:
            self.group.regexes[regex] = ResolvedRegex(topics=("t",), at=0)


@pytest.mark.parametrize("pattern", ["", "a.*", "^a$", "(?i)a", r"\p{Lu}+", "a|b", "é+"])
def test_re2_says_what_a_pattern_is(pattern):
    assert patterns.problem(pattern) is None


@pytest.mark.parametrize("pattern", ["(", "[", "a{2,1}", "*a", r"(?=a)", r"\1", "a{1001}"])
def test_what_cannot_be_a_pattern_is_said_with_the_reason(pattern):
    found = patterns.problem(pattern)
    assert repr(pattern) in found and not found.endswith(": ")


def test_a_group_without_patterns_asks_for_nothing():
    """https://issues.apache.org/jira/browse/KAFKA-19720"""
    assert World("", "").beats(REFRESH_MS) == ()


def test_the_first_patterns_are_asked_for_at_once_and_once():
    world = World("a", "b", "a")
    assert world.beats() == ("a", "b")
    assert world.beats(REFRESH_MS) == ()


def test_what_is_matched_rests_until_it_is_due_again():
    """https://issues.apache.org/jira/browse/KAFKA-18961: rights are noticed by looking again."""
    world = World("a")
    assert world.beats() == ("a",)
    world.resolves("a")
    assert world.beats(REFRESH_MS - 1) == ()
    assert world.beats(1) == ("a",)


def test_a_new_pattern_waits_until_the_group_has_rested():
    world = World("a")
    world.beats()
    world.resolves("a")
    world.group.put(member("new", "b"))
    assert world.beats(REST_MS) == ()
    assert world.beats(1) == ("a", "b")


def test_a_new_pattern_in_place_of_all_others_is_matched_at_once():
    world = World("a")
    world.beats()
    world.resolves()
    assert world.beats(1) == ("a",)


def test_a_new_topic_is_noticed_once_the_group_has_rested():
    """https://issues.apache.org/jira/browse/KAFKA-18916"""
    world = World("a")
    world.beats()
    world.resolves("a")
    world.core.topics.put(Topic("u", bytes(16), 1))
    assert world.beats(REST_MS) == ()
    assert world.beats(1) == ("a",)
    world.resolves("a")
    world.core.topics.put(Topic("u", bytes(16), 2))
    world.core.topics.drop("u")
    assert world.beats(REST_MS + 1) == ()


def test_a_group_that_was_brought_back_looks_anew():
    world = World("a")
    world.resolves("a")
    assert world.beats() == ("a",)


def test_who_asks_says_what_may_be_seen():
    assert World("a").beats(may_describe=str.isupper) == ("a",)


# What they match


def test_what_a_pattern_matches_makes_an_epoch_and_adds_to_the_names():
    consumers = Consumers(t=1, u=1, v=1)
    a = consumers.joined("t", regex="[uv]")
    assert (a.epoch, a.held) == (1, {"t": (0,)})
    consumers.matches("[uv]", "u", "v")
    a.acks()
    assert (a.epoch, a.held) == (2, {"t": (0,), "u": (0,), "v": (0,)})
    cause = consumers.heard(RebalanceStarted)[-1].cause
    assert (cause.kind, cause.detail) == ("topic_changed", {"topics": ["u", "v"], "patterns": ["[uv]"]})
    a.beats(regex="")
    assert a.held == {"t": (0,)}


def test_a_topic_that_comes_for_a_pattern_is_the_cause():
    consumers = Consumers(t1=1, t3=1)
    a = consumers.joined(regex="t.")
    consumers.matches("t.", "t1", "t3")
    consumers.reconcile(a)
    consumers.topic("t2", 1)
    consumers.matches("t.", "t1", "t2")
    cause = consumers.heard(RebalanceStarted)[-1].cause
    assert (cause.kind, cause.detail) == ("topic_changed", {"topics": ["t2", "t3"], "patterns": ["t."]})


def test_a_pattern_that_matches_nothing_makes_no_epoch():
    consumers = Consumers(t=1)
    a = consumers.joined("t", regex="x")
    consumers.matches("x")
    a.beats()
    assert (consumers.seen, consumers.modern.regexes["x"].topics) == (("Stable", 1, 1), ())


def test_what_a_member_had_by_its_old_pattern_goes_to_others_when_the_new_one_matches_nothing():
    consumers = Consumers(t=2)
    a = consumers.joined(regex="t.*")
    consumers.matches("t.*", "t")
    a.acks()
    b = consumers.joined("t")
    consumers.reconcile(a, b)
    assert (a.held, b.held) == ({"t": (0,)}, {"t": (1,)})
    a.beats(regex="x")
    consumers.matches("x")
    consumers.reconcile(a, b)
    assert (a.held, b.held) == ({}, {"t": (0, 1)})
    cause = consumers.heard(RebalanceStarted)[-1].cause
    assert (cause.kind, cause.detail) == ("topic_changed", {"topics": ["t"], "patterns": ["x"]})


def test_a_pattern_that_another_member_has_is_known_already():
    consumers = Consumers(t=1, u=1)
    a = consumers.joined(regex="u")
    consumers.matches("u", "u")
    a.acks()
    b = consumers.joined(regex="u")
    assert (b.epoch, consumers.seen[1:]) == (3, (3, 3))
    assert [effect for effect in consumers.core.out.take() if isinstance(effect, ResolveRegexes)] == []


def test_what_nobody_asks_for_any_more_is_not_taken():
    consumers = Consumers(t=1)
    a = consumers.joined("t", regex="t")
    a.beats(regex="")
    consumers.matches("t", "t")
    a.beats()
    assert (consumers.modern.regexes, consumers.modern.matching) == ({}, False)


def test_what_could_not_be_matched_stays_as_it_was():
    consumers = Consumers(t=1)
    a = consumers.joined(regex="t")
    consumers.matches("t", "t")
    a.acks()
    consumers.modern.matching = True
    consumers.submit(RegexesResolved(group_id=GROUP, topics={}))
    assert (consumers.modern.matching, consumers.modern.regexes["t"].topics) == (False, ("t",))


def test_an_answer_for_a_group_that_is_not_there_is_nothing():
    consumers = Consumers(t=1)
    consumers.submit(RegexesResolved(group_id="gone", topics={"t": ("t",)}))
    assert consumers.core.groups == {}
