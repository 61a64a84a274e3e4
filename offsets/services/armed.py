"""Armed resets: a plan that waits for its group to empty, and is then carried out.

Job: arm, carry out, expire.
Rules: one armed plan per group. When the group empties the plan is made anew, from the offsets as they are then, in the
name of who armed it and only as long as they may. Whoever notices the empty group tries; the claim decides.
Must not know: who notices (the feed's reader at once, a task every few seconds in case nobody did).
"""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import IntegrityError, transaction
from django.utils import timezone

from groups.access import Principal, refusal, require
from groups.audit import audited
from groups.authentication import principal_again
from groups.choices import Role
from groups.clusters import Cluster, clusters
from groups.control import group_changed
from groups.gateway import Committed, Gateway
from groups.gateways import gateway_of
from groups.problems import WRONG_STATE, Problem, not_found, wrong_state
from groups.redis_store import snapshot_of
from groups.rows import is_live
from offsets.choices import PlanStatus
from offsets.grounds import ground_of
from offsets.models import ResetPlan
from offsets.plan_life import claimed, ended, finish, plan_find, require_open
from offsets.planning import plan_items
from offsets.requests import reset_request
from offsets.writing import Write, write_plan

Row = dict[str, Any]

ARMED_FOR = timedelta(hours=24)

_log = structlog.get_logger(__name__)


def plan_arm(
    principal: Principal, cluster_name: str, group_id: str, plan_id: uuid.UUID, *, dry_run: bool = False
) -> Row:
    """Arms a plan: it is carried out the moment the group empties, or expires after a day.

    Raises Problem: 404, 403, 409 for a plan that cannot be armed, a group without members, or one that has an armed plan.
    """
    cluster, plan = plan_find(principal, cluster_name, group_id, plan_id)
    require(principal, Role.OPERATE, cluster, group_id)
    require_open(plan)
    snapshot = snapshot_of(cluster.name, group_id)
    if snapshot is None or not is_live(snapshot):
        raise wrong_state(f"group {group_id}", "The group has no members: apply the plan at once.")
    until = timezone.now() + ARMED_FOR
    answer = {"id": str(plan.id), "armed": not dry_run, "expires_at": until.isoformat(timespec="milliseconds")}
    if dry_run:
        return answer
    with audited(
        actor=principal.actor, action="reset_arm", cluster=cluster.name, group_id=group_id, before={"armed": None}
    ) as row:
        _arm(plan, until, principal)
        row.after = {"armed": str(plan.id), **plan.request}
    group_changed(cluster.name, group_id)
    armed_apply(cluster.name, group_id)  # the group may have emptied in between, and nobody would tell again
    return answer


def armed_apply(cluster_name: str, group_id: str) -> bool:
    """Carries out the armed plan of a group if the group has no members; whether it did.

    Safe to call at any time, from anywhere, by many at once. Raises Problem (503) when the feed does not answer.
    """
    plan = ResetPlan.objects.of_group(cluster_name, group_id).filter(status=PlanStatus.ARMED).first()
    if plan is None:
        return False
    snapshot = snapshot_of(cluster_name, group_id)
    if snapshot is not None and is_live(snapshot):
        return False
    if not claimed(plan, PlanStatus.ARMED):
        return False
    try:
        _carry_out(clusters()[cluster_name], plan)
    except Problem as problem:
        _log.info("armed_reset_not_applied", cluster=cluster_name, group=group_id, why=problem.message)
        return False
    finally:
        group_changed(cluster_name, group_id)
    return True


def armed_apply_all() -> int:
    """Looks at every armed plan; how many were carried out. What the reader missed is not left waiting.

    Raises Problem (503) when the feed does not answer.
    """
    armed = ResetPlan.objects.filter(status=PlanStatus.ARMED).order_by("armed_at")
    return sum(armed_apply(plan.cluster, plan.group_id) for plan in armed)


def plans_expire() -> int:
    """Ends the plans whose time is over; how many."""
    over = ResetPlan.objects.filter(expires_at__lte=timezone.now(), status__in=(PlanStatus.PLANNED, PlanStatus.ARMED))
    armed = list(over.filter(status=PlanStatus.ARMED))
    expired = over.update(status=PlanStatus.EXPIRED, message="Its time was over.")
    for plan in armed:
        group_changed(plan.cluster, plan.group_id)
    return expired


def _arm(plan: ResetPlan, until: datetime, principal: Principal) -> None:
    armed = {
        "status": PlanStatus.ARMED,
        "armed_at": timezone.now(),
        "expires_at": until,
        "actor": principal.actor,
        "user_id": principal.user_id,
        "token_id": principal.token_id,
    }
    try:
        with transaction.atomic():
            armed_it = ResetPlan.objects.filter(pk=plan.pk, status=PlanStatus.PLANNED).update(**armed)
    except IntegrityError as taken:
        other = ResetPlan.objects.of_group(plan.cluster, plan.group_id).filter(status=PlanStatus.ARMED).first()
        by = f" by {other.actor}" if other else ""
        message = f"A reset of this group is armed already{by}: drop that plan first."
        raise wrong_state(f"group {plan.group_id}", message) from taken
    if not armed_it:
        plan.refresh_from_db()
        raise ended(plan)


def _carry_out(cluster: Cluster, plan: ResetPlan) -> None:
    """Plans anew and writes.

    Raises Problem; where the next try may succeed (members came back, the cluster is away), the plan stays armed, else it is
    cancelled, or failed when nobody knows whether it was written.
    """
    gateway = gateway_of(cluster)
    try:
        write = _prepared(cluster, plan, gateway)
    except Problem as problem:
        finish(plan, _after(problem), problem.message)
        raise
    write_plan(gateway, plan, write, otherwise=_after)


def _after(problem: Problem) -> PlanStatus:
    """Where a problem leaves an armed plan of which nothing was written."""
    waits = problem.kind.retriable or problem.kind is WRONG_STATE
    return PlanStatus.ARMED if waits else PlanStatus.CANCELLED


def _prepared(cluster: Cluster, plan: ResetPlan, gateway: Gateway) -> Write:
    """What is to be written, from the offsets as they are now. Raises Problem when there is nothing or nobody to write."""
    principal = _who_armed(cluster, plan)
    request = reset_request(plan.request)
    ground = ground_of(principal, cluster, gateway, plan.group_id, request)
    items = plan_items(gateway, request, ground)
    targets = {item.place(): Committed(offset=item.after) for item in items if item.after is not None}
    if not targets:
        raise not_found(f"partition that plan {plan.id} could still reset")
    return Write(
        actor=principal.actor,
        action="armed_reset",
        cluster=cluster.name,
        group_id=plan.group_id,
        targets=targets,
        held=ground.held,
    )


def _who_armed(cluster: Cluster, plan: ResetPlan) -> Principal:
    """Who armed the plan, as the database knows them now.

    Raises Problem when they may not do this any more.
    """
    then = Principal(actor=plan.actor, user_id=plan.user_id, grants=(), token_id=plan.token_id)
    now = principal_again(then, timezone.now())
    why = refusal(now, Role.OPERATE, cluster, plan.group_id) if now else not_found(f"right of {plan.actor} any more")
    if why is not None:
        raise why
    return now
