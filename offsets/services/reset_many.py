"""The reset of many groups as a kind of job: a plan for each group, applied at once; and what those plans would be.

Rules: the plan is remembered before it is applied, so a job that goes on after a worker died finds out whether it was; a reset
that shifts offsets is never done twice.
Must not know: how jobs are kept and run.
"""

from __future__ import annotations

import uuid
from typing import Any

from groups.access import Principal
from groups.api.base import checked
from groups.choices import JobState
from groups.jobs.kinds import Item, JobKind, is_empty
from groups.jobs.selectors import job_get, job_item_list
from groups.problems import FAILED, NOT_CONNECTED, TIMEOUT, WRONG_STATE, Problem, not_found, wrong_state
from offsets.api.serializers import PlanRequest
from offsets.choices import PlanStatus, WriteOutcome
from offsets.models import ResetPlan
from offsets.requests import reset_request
from offsets.services.plans import plan_apply, plan_create

Row = dict[str, Any]

KIND = "groups_reset"


def _checked(params: dict[str, Any]) -> dict[str, Any]:
    """Raises ValidationError or Problem (400) for a reset that makes no sense."""
    return dict(reset_request(checked(PlanRequest, params)).raw)


def reset_many_preview(principal: Principal, cluster_name: str, job_id: uuid.UUID, *, page: int, page_size: int) -> Row:
    """What a planned job would do to the groups of one page of its list: `{job, items: [{group_id, key, plan}], total, page}`.
    `plan` is that of a dry run, or `{applicable: false, reason, items: []}` where there is none.

    Raises Problem: 404 for a job that is not there, or not a reset, 409 for one that is not planned any more, 503 and 504 when
    the cluster does not answer.
    """
    job = job_get(principal, job_id)
    if job["kind"] != KIND or job["cluster"] != cluster_name:
        raise not_found(f"reset {job_id}")
    if job["state"] != JobState.PLANNED:
        raise wrong_state(f"job {job_id}", "The job was started or cancelled: its page says what came of it.")
    found = job_item_list(principal, job_id, page=page, page_size=page_size)
    items = [
        {"group_id": item["group_id"], "key": item["key"], "plan": _dry(principal, job, item["group_id"])}
        for item in found["items"]
    ]
    return {"job": job, "items": items, "total": found["total"], "page": page}


def _dry(principal: Principal, job: Row, group_id: str) -> Row:
    try:
        return plan_create(principal, job["cluster"], group_id, job["params"], dry_run=True)
    except Problem as problem:
        if problem.kind in (NOT_CONNECTED, TIMEOUT):
            raise  # the next group would only wait as long again
        return {"applicable": False, "reason": problem.message, "items": []}


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
    count = len(written["items"])
    return f"{count} partition{' is' if count == 1 else 's are'} reset and read back; undo puts back what was there."


RESET_MANY = JobKind(label="Reset offsets", checked=_checked, fits=is_empty, act=_reset)
