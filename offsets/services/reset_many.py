"""The reset of many groups as a kind of job: a plan for each group, applied at once.

Rules: the plan is remembered before it is applied, so a job that goes on after a worker died finds out whether it was; a reset
that shifts offsets is never done twice.
Must not know: how jobs are kept and run.
"""

from __future__ import annotations

import uuid
from typing import Any

from groups.api.base import checked
from groups.jobs.kinds import Item, JobKind, is_empty
from groups.problems import FAILED, WRONG_STATE, Problem
from offsets.api.serializers import PlanRequest
from offsets.choices import PlanStatus, WriteOutcome
from offsets.models import ResetPlan
from offsets.requests import reset_request
from offsets.services.plans import plan_apply, plan_create


def _checked(params: dict[str, Any]) -> dict[str, Any]:
    """Raises ValidationError or Problem (400) for a reset that makes no sense."""
    return dict(reset_request(checked(PlanRequest, params)).raw)


def _reset(item: Item) -> str:
    plan_id = item.note.get("plan")
    if plan_id is None:
        plan = plan_create(item.principal, item.cluster, item.group_id, item.params)
        if not plan["applicable"]:
            raise Problem(kind=WRONG_STATE, resource=f"group {item.group_id}", message=plan["reason"])
        plan_id = plan["id"]
        item.remember({"plan": plan_id})
    elif ResetPlan.objects.filter(pk=plan_id, status=PlanStatus.APPLIED).exists():
        return "The reset was applied before the worker stopped."
    written = plan_apply(item.principal, item.cluster, item.group_id, uuid.UUID(plan_id))
    wrong = [row for row in written["items"] if row["error"]]
    if wrong:
        message = f"{len(wrong)} of {len(written['items'])} partitions were not reset: {wrong[0]['error']['message']}"
        raise Problem(kind=FAILED, resource=f"group {item.group_id}", message=message)
    if written["outcome"] == WriteOutcome.NOTHING:
        return "Nothing was to be done."
    return f"{len(written['items'])} partitions are reset and read back; undo puts them back."


RESET_MANY = JobKind(label="Reset offsets", checked=_checked, fits=is_empty, act=_reset)
