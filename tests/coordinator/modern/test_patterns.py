"""Patterns: what can be one, and when a group's are matched."""

from __future__ import annotations

import pytest

from kaas.coordinator.effects import ResolveRegexes
from kaas.coordinator.modern import patterns
from kaas.coordinator.modern.group import Member, ModernGroup, ResolvedRegex
from kaas.coordinator.modern.patterns import REST_MS, after_heartbeat
from kaas.coordinator.topics import Topic
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
