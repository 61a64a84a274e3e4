"""Deleting committed offsets of topics and partitions.

Job: one service.
Rules: nothing named means nothing deleted; a topic that is gone can be named as well, because what was committed there
still stands; what is deleted is kept for undo.
Must not know: requests, templates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groups.access import Principal, cluster_of, require
from groups.audit import audited
from groups.backups import backup_take, backup_void
from groups.choices import Outcome, Role
from groups.gateway import Committed, Gateway, Partition
from groups.gateways import gateway_of
from groups.problems import error_row, from_kafka, not_found
from groups.redis_store import snapshot_of
from groups.times import with_twins
from kaas.errors import ErrorCode
from offsets.requests import Scope
from offsets.writing import plain

Row = dict[str, Any]


def offsets_delete(
    principal: Principal, cluster_name: str, group_id: str, scope: Scope, *, dry_run: bool = False
) -> Row:
    """Deletes the committed offsets in a scope; answers `{topic, partition, before, error}` per partition.

    Raises Problem: 404 for an unknown group, 403, 409 when live members read every topic in the scope, 502 to 504.
    """
    cluster = cluster_of(principal, cluster_name)
    require(principal, Role.OPERATE, cluster, group_id)
    gateway = gateway_of(cluster)
    held = gateway.offsets(group_id)
    if not held and snapshot_of(cluster.name, group_id) is None:
        raise not_found(f"group {group_id}")
    places = _places(scope, held)
    before = {place: held.get(place) for place in places}
    codes = dict.fromkeys(places, ErrorCode.NONE)
    if not dry_run and any(before.values()):
        codes.update(_delete(principal, cluster.name, group_id, gateway, before))
    items = [_item(place, before[place], codes[place]) for place in places]
    return {"group_id": group_id, "dry_run": dry_run, "items": items}


def _places(scope: Scope, held: Mapping[Partition, Committed]) -> list[Partition]:
    places = []
    for topic, partitions in scope or ():
        committed = [partition for name, partition in held if name == topic]
        places += [(topic, partition) for partition in sorted(committed if partitions is None else partitions)]
    return places


def _delete(
    principal: Principal, cluster: str, group_id: str, gateway: Gateway, before: Mapping[Partition, Committed | None]
) -> dict[Partition, ErrorCode]:
    there = {place: kept for place, kept in before.items() if kept is not None}
    act = {"actor": principal.actor, "action": "offsets_delete", "cluster": cluster, "group_id": group_id}
    with audited(**act, before=plain(there)) as row:
        backup = backup_take(**act, offsets=there)
        codes = gateway.delete_offsets(group_id, there)
        refused = [code for code in codes.values() if code]
        if refused and len(refused) == len(codes):
            backup_void(backup)
            raise from_kafka(refused[0], f"group {group_id}")
        row.after = plain({place: None if not codes[place] else kept for place, kept in there.items()})
        row.outcome = Outcome.PARTLY if refused else Outcome.DONE
    return codes


def _item(place: Partition, before: Committed | None, code: ErrorCode) -> Row:
    topic, partition = place
    row = {"topic": topic, "partition": partition, "before": None if before is None else before.offset}
    return {**with_twins(row), "error": error_row(code, f"{topic} {partition}") if code else None}
