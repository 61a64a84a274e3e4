"""Server-side assignors: who is to read what, by one rule each.

Job: `Request` in, target assignment out. `ASSIGNORS` has them by the names that clients and settings use.
Rules: pure and deterministic. A member gets only what it subscribes to, a partition goes to one member only, and every
partition that somebody subscribes to is given. Every member has an entry in the result; it is empty for who gets nothing.
Must not know: epochs, who holds what at the moment, how members get there.
Source: KIP-848; PROTOCOL 4.5 in docs/PROTOCOL.md.
"""

from __future__ import annotations

from collections.abc import Callable

from kaas.coordinator.modern.assignors import range as range_assignor
from kaas.coordinator.modern.assignors import uniform
from kaas.coordinator.modern.assignors.request import Request
from kaas.coordinator.topics import Partitions

Assignor = Callable[[Request], dict[str, Partitions]]
"""Gives each member its partitions, by member id."""

ASSIGNORS: dict[str, Assignor] = {"uniform": uniform.assign, "range": range_assignor.assign}
"""Every assignor by its name; the first is the default."""
