"""Undo: puts back what a reset or a deletion took away.

Job: one service.
Rules: each backup is put back once; a group with members is refused, as a reset is; where nothing was committed before, what
was written since is deleted again.
Must not know: requests, templates.
"""

from __future__ import annotations

from typing import Any

from groups.access import Principal, cluster_of, require
from groups.backups import backup_claim, backup_offsets, backup_release, backups_usable
from groups.choices import Role
from groups.clusters import Cluster
from groups.gateway import Committed, Partition
from groups.gateways import gateway_of
from groups.models import OffsetBackup
from groups.problems import Problem, not_found, wrong_state
from groups.redis_store import snapshot_of
from offsets.choices import WriteOutcome
from offsets.plan_life import why_group_not
from offsets.writing import IN_DOUBT, Write, write_offsets

Row = dict[str, Any]


def offsets_undo(
    principal: Principal, cluster_name: str, group_id: str, backup_id: int | None = None, *, dry_run: bool = False
) -> Row:
    """Puts back the offsets that a reset or deletion of this group took away, the last one unless another is named; answers
    like applying a plan.

    One that is not the last puts its own partitions back to before itself, over whatever was written to them since. Raises
    Problem: 404 when there is nothing to undo, 403, 409 for a group with members, 502 to 504.
    """
    cluster = cluster_of(principal, cluster_name)
    require(principal, Role.OPERATE, cluster, group_id)
    backup = _chosen(cluster, group_id, backup_id)
    if (reason := why_group_not(snapshot_of(cluster.name, group_id))) is not None:
        raise wrong_state(f"group {group_id}", reason)
    gateway = gateway_of(cluster)
    held = gateway.offsets(group_id)
    if dry_run:
        targets = _targets(backup_offsets(backup), held)
        items = [_unwritten(place, held.get(place), target) for place, target in sorted(targets.items())]
        return {"id": str(backup.pk), "outcome": WriteOutcome.NOTHING, "items": items}
    if not backup_claim(backup):
        raise wrong_state(f"group {group_id}", "Somebody else undoes this at the same time.")
    backup.refresh_from_db()  # work that goes on may have added to it until it was claimed
    write = Write(
        actor=principal.actor,
        action="undo",
        cluster=cluster.name,
        group_id=group_id,
        targets=_targets(backup_offsets(backup), held),
        held=held,
        keep=False,
    )
    try:
        outcome, items = write_offsets(gateway, write)
    except Problem as problem:
        if problem.kind not in IN_DOUBT:
            backup_release(backup)
        raise
    return {"id": str(backup.pk), "outcome": outcome, "items": items}


def _chosen(cluster: Cluster, group_id: str, backup_id: int | None) -> OffsetBackup:
    usable = backups_usable(cluster.name, group_id)
    backup = usable.first() if backup_id is None else usable.filter(pk=backup_id).first()
    if backup is None:
        which = "reset or deletion" if backup_id is None else f"reset or deletion {backup_id}"
        raise not_found(f"{which} of group {group_id} that could be undone")
    return backup


def _targets(
    kept: dict[Partition, Committed | None], held: dict[Partition, Committed]
) -> dict[Partition, Committed | None]:
    """What to write: a partition without an offset then and now needs nothing."""
    return {place: then for place, then in kept.items() if then is not None or place in held}


def _unwritten(place: Partition, before: Committed | None, target: Committed | None) -> Row:
    return {
        "topic": place[0],
        "partition": place[1],
        "before": None if before is None else before.offset,
        "after": None if target is None else target.offset,
        "read_back": None,
        "error": None,
    }
