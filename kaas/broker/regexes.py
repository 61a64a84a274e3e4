"""Patterns of consumer groups, matched against the names of topics.

Rules: a pattern (RE2) matches a whole name. One that cannot be matched (it was valid for another version of RE2) is left out.
What is slow runs in a thread; rights are asked for in the loop, where they may change.
Must not know: groups, why a pattern is matched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import re2

Matches = dict[str, tuple[str, ...]]
"""Pattern to the names that it matches, sorted."""

_QUIET = re2.Options()
_QUIET.log_errors = False


def matches(patterns: Iterable[str], names: Iterable[str]) -> Matches:
    """What each pattern matches. For a thread."""
    names = sorted(names)
    found = {}
    for pattern in patterns:
        try:
            compiled = re2.compile(pattern, _QUIET)
        except re2.error:
            continue
        found[pattern] = tuple([name for name in names if compiled.fullmatch(name)])
    return found


def visible(found: Matches, may_describe: Callable[[str], bool] | None) -> Matches:
    """Of what was found the topics that a client may see; null: it may see all."""
    if may_describe is None:
        return found
    return {pattern: tuple(filter(may_describe, names)) for pattern, names in found.items()}
