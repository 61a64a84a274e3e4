"""Patterns of members (RE2): whether one is valid, and when a group's are matched against the topics.

Job: say why a pattern cannot be; ask for a group's patterns to be matched when that is due; take what they match.
Rules
- A pattern matches whole names, in addition to the names that its member gives. Until it has been matched it matches nothing;
  one that another member of the group has is known already.
- All patterns of a group are matched together, off the event loop, never twice at one time, when a heartbeat finds that one has
  not been matched, or that a topic has come, or that the last time was `consumer_regex_refresh_interval_ms` ago (rights may
  have changed): at most every `REST_MS`, unless none of its patterns has been matched.
- When what a pattern matches is another thing than before, the group epoch grows. A pattern that nobody has is forgotten.
Must not know: topics' partitions, rights (the shell asks for them), how a pattern is matched.
Source: KIP-848; Apache Kafka 4.2 `GroupMetadataManager`; PROTOCOL 4.6 in docs/PROTOCOL.md; KAFKA-18961 (topics and rights that
come later are noticed), KAFKA-19720 (a member without a pattern has the empty one).
"""

from __future__ import annotations

from collections.abc import Callable

import re2

from kaas.coordinator.announcements import Cause
from kaas.coordinator.core import Core
from kaas.coordinator.effects import ResolveRegexes
from kaas.coordinator.events import RegexesResolved
from kaas.coordinator.modern.change import Change
from kaas.coordinator.modern.epochs import grow
from kaas.coordinator.modern.group import ModernGroup, ResolvedRegex

REST_MS = 10_000
"""Matching costs as much as there are topics, so that is done at most so often."""

_QUIET = re2.Options()
_QUIET.log_errors = False


def problem(pattern: str) -> str | None:
    """Why a pattern cannot be; null: it can."""
    try:
        re2.compile(pattern, _QUIET)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        return f"the pattern {pattern!r} is not a regular expression of RE2: {reason}"
    return None


def after_heartbeat(core: Core, group: ModernGroup, may_describe: Callable[[str], bool] | None, now_ms: int) -> None:
    """Ask for the patterns to be matched, if that is due. `may_describe`: what the client may see, null: all."""
    if group.patterns and _is_due(core, group, now_ms):
        group.matching = True
        group.matched_ms, group.matched_arrivals = now_ms, core.topics.arrivals
        patterns = tuple(group.patterns)
        core.out.resolve(ResolveRegexes(group_id=group.group_id, patterns=patterns, may_describe=may_describe))


def _is_due(core: Core, group: ModernGroup, now_ms: int) -> bool:
    if group.matching:
        return False
    if group.matched_ms is None or not group.regexes:
        return True
    rested_ms = now_ms - group.matched_ms
    if rested_ms <= REST_MS:
        return False
    return (
        group.matched_arrivals != core.topics.arrivals
        or rested_ms >= core.config.consumer_regex_refresh_interval_ms
        or not group.patterns.keys() <= group.regexes.keys()
    )


def resolved(core: Core, event: RegexesResolved, now_ms: int) -> None:
    """The patterns of a group have been matched; the next heartbeat makes the target of what is new."""
    group = core.groups.get(event.group_id)
    if group is None or group.modern is None:
        return
    modern = group.modern
    modern.matching = False
    change = Change(core, group, now_ms)
    came: list[str] = []
    changed: list[str] = []
    for pattern, topics in event.topics.items():
        known = modern.regexes.get(pattern)
        if pattern not in modern.patterns or (known is not None and known.topics == topics):
            continue
        change.resolve(pattern, ResolvedRegex(topics, core.wall_ms(now_ms)))
        before = () if known is None else known.topics
        differ = sorted({*topics} ^ {*before}) or left_over(core, modern, pattern)
        came += differ
        changed += [pattern] if differ else []
    if came:
        grow(change, Cause(kind="topic_changed", detail={"topics": sorted({*came}), "patterns": changed}))
    change.close()


def left_over(core: Core, group: ModernGroup, pattern: str) -> list[str]:
    """Topics in the target of members with this pattern that they no longer subscribe to, by name: others are to read them.

    That was not so while the pattern was unknown, so nothing but its first match tells, also when that is nothing.
    """
    found: dict[str, None] = {}
    for member in group.members.values():
        if member.regex == pattern:
            wanted = group.topics_of(member)
            for topic_id in group.target.get(member.member_id, {}):
                topic = core.topics.by_id.get(topic_id)
                if topic is not None and topic.name not in wanted:
                    found[topic.name] = None
    return sorted(found)
