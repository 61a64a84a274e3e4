"""Cluster-wide features and their levels (KIP-584), published at the level that is implemented.

Why: `group.version` 1 says that KIP-848 groups are served; `transaction.version` 2 makes Java and franz-go use the protocol of
KIP-890. Tools show them; no client looks at the first.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """`level` is in force; 0 means that it is not published as finalized."""

    name: str
    min_level: int
    max_level: int
    level: int


FEATURES: tuple[Feature, ...] = (
    Feature(name="group.version", min_level=0, max_level=1, level=1),
    Feature(name="transaction.version", min_level=0, max_level=2, level=2),
)
