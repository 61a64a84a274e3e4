"""The shapes, and how an event changes a snapshot."""

from __future__ import annotations

import msgspec
import pytest

from kaas.feed import types
from kaas.feed.types import CAUSES, KINDS, Event, MovedPartition, apply, order

BASE = {
    "coordinator_epoch": 2,
    "version": 5,
    "state": "Stable",
    "leader": "a",
    "members": {"a": {"state": "stable"}, "b": {"state": "stable"}},
    "offsets": {"t/0": {"committed": 1}},
}


def event(version: int = 6, epoch: int = 2, **more: object) -> dict[str, object]:
    return {"kind": "state_changed", "coordinator_epoch": epoch, "version": version, **more}


def test_a_patch_replaces_fields_and_merges_members_and_offsets() -> None:
    patch = {
        "version": 6,
        "leader": None,
        "members": {"b": None, "c": {"state": "joining"}},
        "offsets": {"t/0": {"committed": 2}},
    }
    after = apply(BASE, event(patch=patch))
    assert after == {
        **BASE,
        "version": 6,
        "leader": None,
        "members": {"a": {"state": "stable"}, "c": {"state": "joining"}},
        "offsets": {"t/0": {"committed": 2}},
    }
    assert BASE["version"] == 5 and "b" in BASE["members"]


@pytest.mark.parametrize(("version", "epoch"), [(5, 2), (4, 2), (99, 1)])
def test_what_is_not_newer_changes_nothing(version: int, epoch: int) -> None:
    assert apply(BASE, event(version, epoch, patch={"state": "Empty"})) is BASE


def test_a_higher_epoch_is_newer_whatever_its_version() -> None:
    assert order(event(1, 3)) > order(BASE)
    assert apply(BASE, event(1, 3, snapshot={"state": "Empty"})) == {"state": "Empty"}


@pytest.mark.parametrize("kind", ["group_deleted", "group_expired", "coordinator_lost"])
def test_a_group_that_is_gone_is_null(kind: str) -> None:
    assert apply(BASE, {**event(), "kind": kind}) is None


def test_an_event_without_patch_changes_nothing_and_a_patch_alone_makes_no_group() -> None:
    assert apply(BASE, event()) is BASE
    assert apply(None, event(patch={"state": "Empty"})) is None
    assert apply(None, event(snapshot={"state": "Empty"})) == {"state": "Empty"}


def test_a_move_says_from_and_to() -> None:
    move = MovedPartition(topic="t", partition=1, from_member=None, to_member="a")
    assert msgspec.to_builtins(move) == {"topic": "t", "partition": 1, "from": None, "to": "a", "without_ms": None}


def test_an_event_leaves_out_what_it_does_not_say() -> None:
    made = Event(kind="group_created", cluster="c", group_id="g", at=1, coordinator=1, coordinator_epoch=1, version=1)
    assert set(msgspec.json.decode(msgspec.json.encode(made))) == {
        "kind", "cluster", "group_id", "at", "coordinator", "coordinator_epoch", "version"
    }  # fmt: skip


def test_kinds_and_causes_are_named_once() -> None:
    assert len(set(KINDS)) == len(KINDS) and len(set(CAUSES)) == len(CAUSES)
    assert types.MERGED == ("members", "offsets")
