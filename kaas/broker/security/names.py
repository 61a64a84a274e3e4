"""Principals: who a client is, in Kafka's way of writing it.

Job: `User:name`, and the name that the subject of a certificate gives.
Rules: a subject is written as Java does (RFC 2253): the most special part first, the parts that have no name there by their
OID. The first mapping rule that fits makes the name of it; one that no rule fits is refused.
Must not know: connections, rules of access.
Source: KIP-371 (`ssl.principal.mapping.rules`), RFC 2253.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

USER = "User:"
ANONYMOUS = "User:ANONYMOUS"
EVERYBODY = "User:*"

_SHORT = {
    "commonName": "CN",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "countryName": "C",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}
"""What OpenSSL calls a part, and RFC 2253."""

_RULE = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:,|$)")
_PART = re.compile(r"\$(\d)")

Subject = Sequence[Sequence[tuple[str, str]]]
"""As `ssl` gives it: parts from the most general one, each of one or more (name, value)."""


class BadName(Exception):
    """No rule makes a name of this subject."""


class MappingRule(NamedTuple):
    """`pattern` None: the subject as it is. `$1` in `replacement` is what the first group of the pattern found."""

    pattern: re.Pattern[str] | None
    replacement: str = ""
    case: str = ""

    def apply(self, subject: str) -> str | None:
        """The name, or null where the rule does not fit."""
        if self.pattern is None:
            return subject
        found = self.pattern.fullmatch(subject)
        if found is None:
            return None
        name = _PART.sub(lambda part: found[int(part[1])] or "", self.replacement)
        return name.lower() if self.case == "L" else name.upper() if self.case == "U" else name


def mapping_rules(text: str) -> list[MappingRule]:
    """The rules of `ssl.principal.mapping.rules`. Raises ValueError."""
    rules, at = [], 0
    while at < len(text.rstrip()):
        found = _RULE.match(text, at)
        if found is None:
            raise ValueError(f"{text[at:]!r} is neither DEFAULT nor of the form RULE:pattern/replacement/[LU]")
        default, pattern, replacement, case = found.groups()
        if default:
            rules.append(MappingRule(None))
        else:
            rules.append(MappingRule(_compiled(pattern, replacement), replacement, case))
        at = found.end()
    return rules or [MappingRule(None)]


def _compiled(pattern: str, replacement: str) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern)
    except re.error as problem:
        raise ValueError(f"{pattern!r} is no pattern: {problem}") from None
    if any(int(part) > compiled.groups for part in _PART.findall(replacement)):
        raise ValueError(f"{replacement!r} names more groups than {pattern!r} has")
    return compiled


def distinguished_name(subject: Subject) -> str:
    """A subject as one text, the most special part first."""
    return ",".join(
        "+".join(f"{_SHORT.get(name, name)}={_escaped(value)}" for name, value in part) for part in subject[::-1]
    )


def _escaped(value: str) -> str:
    """RFC 2253, section 2.4."""
    escaped = re.sub(r'([,+"\\<>;])', r"\\\1", value)
    if escaped.startswith(("#", " ")):
        escaped = "\\" + escaped
    return escaped[:-1] + "\\ " if escaped.endswith(" ") and len(value) > 1 else escaped


def certificate_name(subject: Subject, rules: Iterable[MappingRule]) -> str:
    """Who the holder of a certificate is. Raises BadName."""
    text = distinguished_name(subject)
    for rule in rules:
        name = rule.apply(text)
        if name is not None:
            return name
    raise BadName(f"no rule of ssl.principal.mapping.rules fits {text!r}")


def super_users(text: str) -> frozenset[str]:
    """The principals of `super.users`. Raises ValueError."""
    names = frozenset(name.strip() for name in text.split(";") if name.strip())
    for name in sorted(names):
        if not name.startswith(USER):
            raise ValueError(f"{name!r} is not of the form User:name")
    return names
