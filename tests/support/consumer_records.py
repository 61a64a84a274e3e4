"""Records of consumer groups: some by hand, and any."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from kaas.coordinator.modern.group import ClassicPart, Member, MemberState, ResolvedRegex
from kaas.coordinator.records import ConsumerGroupChanged

T, U = b"t" * 16, b"u" * 16
"""Ids of two topics."""


def member(member_id: str, **about: Any) -> Member:
    """A member at epoch 1 that reads topic t."""
    usual = {"client_id": "client", "client_host": "/10.0.0.1", "rebalance_timeout_ms": 60_000, "topics": ("t",)}
    return Member(member_id=member_id, **{**usual, "epoch": 1, "previous_epoch": 0, "joined_at": 5, **about})


def changed(epoch: int, **changes: Any) -> ConsumerGroupChanged:
    """A record of a group with a target of its own epoch."""
    usual = {"metadata_hash": 99, "target_epoch": epoch, "target_assignor": "uniform", "at": 7_000}
    return ConsumerGroupChanged(epoch=epoch, **{**usual, **changes})


ids = st.sampled_from(["a", "b", "c"])
partitions = st.dictionaries(
    st.sampled_from([T, U]), st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True).map(sorted).map(tuple)
)
classic_parts = st.none() | st.builds(ClassicPart, st.integers(0, 9), st.just((("range", b"\0x"),)))
patterns = st.sampled_from(["t.*", "u"])


@st.composite
def members(draw: st.DrawFn) -> Member:
    """Any member. Nothing that it has let go of is still its own."""
    assigned, revoking = draw(partitions), draw(partitions)
    return member(
        draw(ids),
        instance_id=draw(st.none() | st.sampled_from(["i", "j"])),
        rack_id=draw(st.none() | st.just("r")),
        topics=tuple(draw(st.sets(st.sampled_from(["t", "u"])).map(sorted))),
        regex=draw(st.just("") | patterns),
        assignor=draw(st.none() | st.just("range")),
        classic=draw(classic_parts),
        epoch=draw(st.integers(-2, 5)),
        previous_epoch=draw(st.integers(-1, 5)),
        state=draw(st.sampled_from(MemberState)),
        assigned=assigned,
        revoking={topic_id: row for topic_id, row in revoking.items() if topic_id not in assigned},
    )


changes = st.builds(
    ConsumerGroupChanged,
    epoch=st.integers(0, 5),
    metadata_hash=st.integers(0, 2**64 - 1),
    target_epoch=st.integers(0, 5),
    target_assignor=st.sampled_from(["uniform", "range"]),
    at=st.integers(0, 9_000),
    whole=st.booleans(),
    members=st.lists(members(), max_size=3, unique_by=lambda row: row.member_id),
    gone=st.lists(ids, max_size=2, unique=True),
    targets=st.dictionaries(ids, partitions, max_size=3),
    regexes=st.dictionaries(patterns, st.builds(ResolvedRegex, st.just(("t",)), st.integers(0, 9)), max_size=2),
    regexes_gone=st.lists(patterns, max_size=1),
)
