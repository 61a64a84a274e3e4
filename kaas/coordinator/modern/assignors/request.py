"""What an assignor is asked: members with what they subscribe to and what they were to hold so far, and the topics."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kaas.coordinator.topics import Partitions


class Subscriber(msgspec.Struct, frozen=True):
    """A member as an assignor sees it. `topics`: ids of topics that exist and that it subscribes to, sorted.

    `target`: what the target assignment before gave it; it may name topics and partitions that are gone.
    """

    instance_id: str | None
    topics: tuple[bytes, ...]
    target: Partitions


class Request(msgspec.Struct, frozen=True):
    """Members by id, and the partition counts of every topic that one of them subscribes to."""

    members: Mapping[str, Subscriber]
    partitions: Mapping[bytes, int]
