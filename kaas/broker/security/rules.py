"""Rules: who may do what with which group, topic, transactional id or the cluster.

Job: the file of rules, and the decision about one request.
Rules of deciding, as Apache's authoriser has them
- A super user may do everything.
- A rule concerns a resource by its whole name, by the beginning of its name, or, named `*`, every one of its kind.
- A rule that denies wins over all that allow. Who may read, write, delete or alter may also describe; who may alter settings
  may also see them; to deny one denies only that one.
- What no rule names is refused, unless `allow.everyone.if.no.acl.found` says otherwise.
- Without a file there are no rules, and everything is allowed.
Must not know: connections, APIs.
Shape: {"rules": [{"permission_type": "ALLOW", "principal": "User:alice", "host": "*", "operations": ["READ"],
"resource_type": "GROUP", "resource_name": "orders-", "pattern_type": "PREFIXED"}]}; host and pattern_type (LITERAL) may be
left out.
Source: KIP-11, KIP-290 (prefixes); Apache Kafka 4.2, StandardAuthorizer.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Literal

import msgspec

from kaas.broker.security.names import EVERYBODY
from kaas.broker.security.operations import IMPLIED_BY, Kind, Operation
from kaas.broker.security.watched import decoded

FILE_NAME = "rules.json"
EVERY_NAME = "*"
EVERY_HOST = "*"
REMEMBERED = 65_536
"""Decisions that are kept, so that a request that comes again costs one look-up."""


class Rule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One rule, in Kafka's words."""

    permission_type: Literal["ALLOW", "DENY"]
    principal: str
    operations: list[str]
    resource_type: str
    resource_name: str
    pattern_type: Literal["LITERAL", "PREFIXED"] = "LITERAL"
    host: str = EVERY_HOST

    @property
    def allows(self) -> bool:
        return self.permission_type == "ALLOW"

    def is_about(self, principal: str, host: str) -> bool:
        return self.principal in (principal, EVERYBODY) and self.host in (host, EVERY_HOST)

    def covers(self, name: str) -> bool:
        """Whether it concerns the resource of a name."""
        if self.pattern_type == "PREFIXED":
            return name.startswith(self.resource_name)
        return self.resource_name in (name, EVERY_NAME)

    def names(self, operation: Operation) -> bool:
        """Whether it concerns an operation itself."""
        return operation.name in self.operations or "ALL" in self.operations

    def grants(self, operation: Operation) -> bool:
        """Whether it allows an operation, itself or by another one."""
        return self.names(operation) or any(other.name in self.operations for other in IMPLIED_BY.get(operation, ()))


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """The file."""

    rules: list[Rule]
    version: int = 1


def parse(data: bytes) -> tuple[Rule, ...]:
    """The rules in a file. Raises ValueError."""
    rules = tuple(decoded(data, Stored).rules)
    for number, rule in enumerate(rules, 1):
        _check(f"rule {number}", rule)
    return rules


def _check(place: str, rule: Rule) -> None:
    kinds, operations = Kind.__members__, Operation.__members__
    if rule.resource_type not in kinds:
        raise ValueError(f"{place}: resource_type is one of {', '.join(kinds)}, not {rule.resource_type!r}")
    for operation in rule.operations:
        if operation not in operations:
            raise ValueError(f"{place}: operations are of {', '.join(operations)}, not {operation!r}")
    if not rule.principal.startswith("User:"):
        raise ValueError(f"{place}: a principal is of the form User:name, not {rule.principal!r}")


class Rules:
    """The rules that are in force; a change of them makes another one."""

    def __init__(self, rules: tuple[Rule, ...], *, super_users: frozenset[str], everyone_if_none: bool) -> None:
        self._by_kind = {kind: [rule for rule in rules if rule.resource_type == kind.name] for kind in Kind}
        self._super_users = super_users
        self._everyone_if_none = everyone_if_none
        self.allows = functools.lru_cache(REMEMBERED)(self._allows)
        """Whether a principal, coming from an address, may do an operation with a resource: (principal, host, operation,
        kind, name)."""

    def _allows(self, principal: str, host: str, operation: Operation, kind: Kind, name: str) -> bool:
        if principal in self._super_users:
            return True
        found = [rule for rule in self._by_kind[kind] if rule.covers(name)]
        if not found:
            return self._everyone_if_none
        mine = [rule for rule in found if rule.is_about(principal, host)]
        if any(not rule.allows and rule.names(operation) for rule in mine):
            return False
        return any(rule.allows and rule.grants(operation) for rule in mine)

    def allows_any(self, principal: str, host: str, operation: Operation, kind: Kind) -> bool:
        """Whether there can be a resource of a kind that it may do this with."""
        if principal in self._super_users or self._everyone_if_none:
            return True
        denied = list(self._mine(principal, host, operation, kind, allowing=False))
        return any(
            not any(_takes_all_of(deny, allow) for deny in denied)
            for allow in self._mine(principal, host, operation, kind, allowing=True)
        )

    def _mine(self, principal: str, host: str, operation: Operation, kind: Kind, *, allowing: bool) -> Iterator[Rule]:
        for rule in self._by_kind[kind]:
            fits = rule.grants(operation) if allowing else rule.names(operation)
            if rule.allows is allowing and fits and rule.is_about(principal, host):
                yield rule


def _takes_all_of(deny: Rule, allow: Rule) -> bool:
    """Whether everything that one rule allows is denied by the other."""
    if deny.pattern_type == "PREFIXED":
        return allow.resource_name != EVERY_NAME and allow.resource_name.startswith(deny.resource_name)
    if deny.resource_name == EVERY_NAME:
        return True
    return allow.pattern_type == "LITERAL" and allow.resource_name == deny.resource_name
