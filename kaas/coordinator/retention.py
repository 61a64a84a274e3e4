"""Offsets that have outlived their retention, and groups that have nothing left.

Job: look through the groups, a few per step, and delete what has expired.
Rules: an offset with a retention of its own (OffsetCommit 2-4) goes by that; others go `offsets.retention.minutes` after the
group became Empty or after the commit, whichever is later; in a simple group after the commit. What a member subscribes to is
kept, and nothing expires while the group rebalances. Partitions with an open transaction stay, and so does their group. A
group with a record in flight is left for the next round: what looks expired may just have been committed anew.
Source: PROTOCOL 3.6 in docs/PROTOCOL.md; KIP-211, KAFKA-10401, KAFKA-13636, KAFKA-19163, KAFKA-7403 (-1 is no time).
"""

from __future__ import annotations

from kaas.coordinator import timers
from kaas.coordinator.classic.states import State
from kaas.coordinator.core import Core
from kaas.coordinator.group import Group
from kaas.coordinator.offset_entry import OffsetEntry, OffsetKey
from kaas.coordinator.offsets import bury, drop

GROUPS_PER_STEP = 200
"""So that a step takes about a millisecond."""


def step(core: Core, now_ms: int) -> None:
    """Look at the next few groups; when all have been looked at, begin again after the check interval."""
    if not core.retention_queue:
        core.retention_queue = list(core.groups)
    todo, core.retention_queue = core.retention_queue[:GROUPS_PER_STEP], core.retention_queue[GROUPS_PER_STEP:]
    busy = core.out.groups_in_flight()
    for group_id in todo:
        group = core.groups.get(group_id)
        if group is not None and group_id not in busy:
            expire(core, group, now_ms)
    wait_ms = 1 if core.retention_queue else core.config.offsets_retention_check_interval_ms
    core.out.set_timer(timers.RETENTION, now_ms + wait_ms)


def expire(core: Core, group: Group, now_ms: int) -> None:
    """Delete what has expired; an Empty group without offsets and without open transactions goes as a whole."""
    gone = expired(core, group, now_ms)
    if gone:
        drop(core, group.group_id, gone, "expired")
    left = sum(len(partitions) for partitions in group.offsets.values()) - len(gone)
    if group.is_empty and not left and not group.staged and not group.classic.pending:
        bury(core, group, now_ms, "expired")


def expired(core: Core, group: Group, now_ms: int) -> list[OffsetKey]:
    """The partitions whose offsets are due."""
    if group.classic.state in (State.PREPARING_REBALANCE, State.COMPLETING_REBALANCE):
        return []
    subscribed = group.subscribed()
    wall_ms = core.wall_ms(now_ms)
    return [
        (topic, partition)
        for topic, partitions in group.offsets.items()
        if subscribed is not None and topic not in subscribed
        for partition, entry in partitions.items()
        if (topic, partition) not in group.holders and due_at(core, group, entry) <= wall_ms
    ]


def due_at(core: Core, group: Group, entry: OffsetEntry) -> int:
    """Wall time from which an offset may go."""
    if entry.expires_at is not None:
        return entry.expires_at
    since = entry.committed_at
    if group.is_empty and group.protocol_type:
        since = max(since, core.wall_ms(group.state_since_ms))
    return since + core.config.offsets_retention_ms
