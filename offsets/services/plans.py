"""Reset plans: make, apply, drop.

Job: what an operator does with a plan at once; `armed` does what waits.
Rules: making one writes nothing to the cluster. Applying claims the plan first, then checks that state and offsets are
still those it was made from, then writes and reads back.
Must not know: requests, templates.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.utils import timezone

from groups.access import Principal, cluster_of, require
from groups.audit import audited, audited_last
from groups.choices import Role
from groups.clusters import Cluster
from groups.control import group_changed
from groups.fields import id_digest
from groups.gateway import Committed, Gateway, Partition
from groups.gateways import gateway_of
from groups.problems import wrong_state
from groups.redis_store import snapshot_of
from offsets.choices import PlanStatus, WriteOutcome
from offsets.grounds import ground_of
from offsets.models import ResetPlan
from offsets.plan_life import (
    claiming,
    ended,
    nothing_in,
    place_of,
    plan_find,
    plan_row,
    require_open,
    why_group_not,
)
from offsets.planning import plan_items, require_group_known
from offsets.requests import reset_request
from offsets.writing import Write, write_plan

Row = dict[str, Any]

PLANNED_FOR = timedelta(hours=1)
NOBODY = "Dead"
"""The state of a group that does not exist, in Kafka's word."""

CHANGES = {
    "offsets_reset": "reset them",
    "armed_reset": "had a reset armed, which was carried out",
    "offsets_delete": "deleted some",
    "undo": "put older ones back",
    "group_delete": "deleted the group",
}
"""What this console does to offsets, by the action of its audit row, as a sentence says it."""

_DROPPABLE = (PlanStatus.PLANNED, PlanStatus.ARMED)


def plan_create(
    principal: Principal, cluster_name: str, group_id: str, raw: Mapping[str, Any], *, dry_run: bool = False
) -> Row:
    """Plans a reset: says per partition what it would do, writes nothing. A dry run does not even keep the plan.

    Raises Problem: 400 for a request that makes no sense, 404 for what is not there, 403 not granted, 502 to 504 from the
    cluster.
    """
    cluster = cluster_of(principal, cluster_name)
    require(principal, Role.OPERATE, cluster, group_id)
    request = reset_request(raw)
    snapshot = snapshot_of(cluster.name, group_id)
    gateway = gateway_of(cluster)
    ground = ground_of(principal, cluster, gateway, group_id, request)
    require_group_known(request, ground, group_id, snapshot is not None)
    items = plan_items(gateway, request, ground)
    plan = ResetPlan(
        cluster=cluster.name,
        group_id=group_id,
        group_digest=id_digest(group_id),
        request=request.raw,
        state=NOBODY if snapshot is None else snapshot.state,
        items=[item.row() for item in items],
        actor=principal.actor,
        user_id=principal.user_id,
        token_id=principal.token_id,
        expires_at=timezone.now() + PLANNED_FOR,
    )
    if not dry_run:
        plan.save()
    row = plan_row(plan, cluster, request, snapshot)
    errors = [error for item in items if (error := item.error())]
    return {**row, "id": None if dry_run else row["id"], "errors": errors}


def plan_apply(
    principal: Principal, cluster_name: str, group_id: str, plan_id: uuid.UUID, *, dry_run: bool = False
) -> Row:
    """Carries a plan out, once, if state and offsets are still those it was made from.

    Raises Problem: 404, 403, 409 for a plan that is not (or no longer) to be applied or is out of date, 502 to 504.
    """
    cluster, plan = plan_find(principal, cluster_name, group_id, plan_id)
    require(principal, Role.OPERATE, cluster, group_id)
    gateway = gateway_of(cluster)
    if dry_run:
        require_open(plan)
        require_unchanged(cluster, plan, gateway)
        return {"id": str(plan.id), "outcome": WriteOutcome.NOTHING, "items": [_unwritten(row) for row in plan.items]}
    with claiming(plan):
        held = require_unchanged(cluster, plan, gateway)
    write = Write(
        actor=principal.actor,
        action="offsets_reset",
        cluster=cluster.name,
        group_id=group_id,
        targets={place_of(row): Committed(offset=row["after"]) for row in plan.items if row["after"] is not None},
        held=held,
    )
    outcome, items = write_plan(gateway, plan, write, otherwise=lambda problem: PlanStatus.PLANNED)
    return {"id": str(plan.id), "outcome": outcome, "items": items}


def plan_drop(
    principal: Principal, cluster_name: str, group_id: str, plan_id: uuid.UUID, *, dry_run: bool = False
) -> None:
    """Drops a plan, an armed one too.

    Raises Problem: 404, 403, 409 for a plan that is being applied or has ended.
    """
    cluster, plan = plan_find(principal, cluster_name, group_id, plan_id)
    require(principal, Role.OPERATE, cluster, group_id)
    if plan.status not in _DROPPABLE:
        raise ended(plan)
    if dry_run:
        return
    before = {"plan": str(plan.id), "status": plan.status}
    with audited(
        actor=principal.actor, action="reset_drop", cluster=cluster.name, group_id=group_id, before=before
    ) as row:
        if not ResetPlan.objects.filter(pk=plan.pk, status__in=_DROPPABLE).update(status=PlanStatus.DROPPED):
            plan.refresh_from_db()
            raise ended(plan)
        row.after = {**before, "status": PlanStatus.DROPPED}
    group_changed(cluster.name, group_id)


def require_unchanged(cluster: Cluster, plan: ResetPlan, gateway: Gateway) -> Mapping[Partition, Committed]:
    """The group's offsets, which like its state are still those that the plan was made from.

    Raises Problem (409) naming what changed.
    """
    if (reason := why_group_not(snapshot_of(cluster.name, plan.group_id))) is not None:
        raise wrong_state(f"group {plan.group_id}", reason)
    if (reason := nothing_in(plan)) is not None:
        raise wrong_state(f"plan {plan.id}", reason)
    held = gateway.offsets(plan.group_id)
    for row in plan.items:
        now = held[place_of(row)].offset if place_of(row) in held else None
        if now != row["before"]:
            where = f"{row['topic']} {row['partition']}"
            message = (
                f"Since the plan was made, {where} went from {row['before']} to {now}: {_by_whom(plan)}. Plan again."
            )
            raise wrong_state(f"plan {plan.id}", message)
    return held


def _by_whom(plan: ResetPlan) -> str:
    """Who changed the offsets since a plan was made, as far as this console knows."""
    row = audited_last(plan.cluster, plan.group_id, CHANGES, plan.created_at)
    if row is None:
        return "by a commit, or by a tool other than this console"
    return f"{row.actor} {CHANGES[row.action]} at {row.at:%H:%M:%S} UTC"


def _unwritten(row: Mapping[str, Any]) -> Row:
    return {key: row[key] for key in ("topic", "partition", "before", "after")} | {"read_back": None, "error": None}
