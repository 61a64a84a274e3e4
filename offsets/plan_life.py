"""Where a plan stands, and how it gets from one status to the next.

Job: find, claim, finish; the words for a plan that is not to be applied; its rows.
Rules: each step is a conditional update from the status it expects, so that of two who try one wins.
Must not know: the cluster.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.utils import timezone

from groups.access import Principal, cluster_of, require_visible
from groups.clusters import Cluster
from groups.gateway import Partition
from groups.problems import Problem, not_found, wrong_state
from groups.rows import actions
from kaas.feed.types import Snapshot
from offsets.choices import PlanStatus
from offsets.command import reset_command
from offsets.csv_format import csv_from_offsets
from offsets.models import ResetPlan
from offsets.requests import ResetRequest

Row = dict[str, Any]

NOTHING_IN_SCOPE = "Nothing lies in this scope: there is nothing to apply."
NOTHING_TO_SET = "No partition of this scope can be reset: see the notes."


def plan_find(principal: Principal, cluster_name: str, group_id: str, plan_id: uuid.UUID) -> tuple[Cluster, ResetPlan]:
    """A plan of a group that the principal may see.

    Raises Problem (404).
    """
    cluster = cluster_of(principal, cluster_name)
    require_visible(principal, cluster, group_id)
    plan = ResetPlan.objects.of_group(cluster.name, group_id).filter(pk=plan_id).first()
    if plan is None:
        raise not_found(f"plan {plan_id} of group {group_id}")
    return cluster, plan


def plan_row(plan: ResetPlan, cluster: Cluster, request: ResetRequest, snapshot: Snapshot | None) -> Row:
    """A plan as the API shows it: what it would do, whether it can be applied now, and the same for Kafka's tool."""
    reason = why_not(plan, snapshot)
    return {
        "id": str(plan.id),
        "group_id": plan.group_id,
        "status": plan.status,
        **plan.request,
        "state": plan.state,
        "created_by": plan.actor,
        "expires_at": plan.expires_at.isoformat(timespec="milliseconds"),
        "applicable": reason is None,
        "reason": reason,
        "items": plan.items,
        "command": reset_command(bootstrap=cluster.bootstrap, group_id=plan.group_id, request=request),
        "csv": csv_from_offsets({place_of(row): row["after"] for row in plan.items if row["after"] is not None}),
    }


def why_not(plan: ResetPlan, snapshot: Snapshot | None) -> str | None:
    """Why a plan cannot be applied, null when it can."""
    if not _is_open(plan):
        return ended(plan).message
    if (reason := why_group_not(snapshot)) is not None:
        return reason
    return nothing_in(plan)


def why_group_not(snapshot: Snapshot | None) -> str | None:
    """Why a group's state allows no reset, null when it does. A group that does not exist allows it."""
    return None if snapshot is None else actions(snapshot)["reset"]["reason"]


def nothing_in(plan: ResetPlan) -> str | None:
    """Why a plan has nothing to write, null when it has something."""
    if not plan.items:
        return NOTHING_IN_SCOPE
    return NOTHING_TO_SET if all(row["after"] is None for row in plan.items) else None


def require_open(plan: ResetPlan) -> None:
    """Raises Problem (409) for a plan that can neither be applied nor armed."""
    if not _is_open(plan):
        raise ended(plan)


def ended(plan: ResetPlan) -> Problem:
    """The problem of a plan whose status does not allow what was asked."""
    status = PlanStatus(plan.status)
    said = {
        PlanStatus.PLANNED: "The plan's time is over: plan again.",
        PlanStatus.ARMED: f"The plan was armed by {plan.actor} and waits for the group to empty.",
        PlanStatus.APPLYING: "The plan is being applied.",
        PlanStatus.APPLIED: "The plan was applied already: a plan is applied once.",
    }
    otherwise = f"The plan is {status.label.lower()}: {plan.message or 'plan again.'}"
    return wrong_state(f"plan {plan.id}", said.get(status, otherwise))


@contextmanager
def claiming(plan: ResetPlan) -> Iterator[None]:
    """Claims a plan for a block that writes nothing; a Problem in it gives the plan back, as it may still come to fit.

    Raises Problem (409) when it is not (or no longer) to be applied.
    """
    if not claimed(plan, PlanStatus.PLANNED):
        plan.refresh_from_db()
        raise ended(plan)
    try:
        yield
    except Problem:
        finish(plan, PlanStatus.PLANNED)
        raise


def claimed(plan: ResetPlan, expected: PlanStatus) -> bool:
    """Whether this caller is the one who takes the plan from a status to `applying`."""
    due = ResetPlan.objects.filter(pk=plan.pk, status=expected, expires_at__gt=timezone.now())
    return due.update(status=PlanStatus.APPLYING) == 1


def finish(plan: ResetPlan, status: PlanStatus, message: str = "") -> None:
    """Where a claimed plan ends up."""
    ResetPlan.objects.filter(pk=plan.pk, status=PlanStatus.APPLYING).update(status=status, message=message)


def place_of(row: Mapping[str, Any]) -> Partition:
    """Topic and partition of a plan's row."""
    return row["topic"], row["partition"]


def _is_open(plan: ResetPlan) -> bool:
    return plan.status == PlanStatus.PLANNED and plan.expires_at > timezone.now()
