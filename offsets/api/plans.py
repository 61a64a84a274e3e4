"""Reset plans over REST."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from groups.api.base import ApiView, WriteParameters, group_of
from groups.api.schema import WRITES, failures
from offsets import selectors
from offsets.api import serializers as shapes
from offsets.services.armed import plan_arm
from offsets.services.plan_job import plan_apply_as_job
from offsets.services.plans import plan_apply, plan_create, plan_drop

_WRITE_FAILURES = failures(400, 403, 404, 409, 502, 503, 504)


class PlanListView(ApiView):
    """Reset plans of a group."""

    @extend_schema(
        operation_id="plan_create",
        parameters=[WriteParameters, *WRITES],
        request=shapes.PlanRequest,
        responses={201: shapes.Plan, 200: shapes.Plan, **_WRITE_FAILURES},
    )
    def post(self, request, cluster: str, group: str):
        """Says per partition what a reset would do; nothing is written, nothing joins the group."""
        dry_run = self.parameters(WriteParameters)["dry_run"]
        raw, group_id = self.body(shapes.PlanRequest), group_of(group)

        def act():
            plan = plan_create(self.principal(), cluster, group_id, raw, dry_run=dry_run)
            return 200 if dry_run else 201, plan

        return self.once(act)


class PlanView(ApiView):
    """One plan."""

    @extend_schema(operation_id="plan_get", responses={200: shapes.Plan, **failures(404, 503)})
    def get(self, request, cluster: str, group: str, plan: uuid.UUID):
        """A plan as it stands, and whether it can be applied now."""
        self.parameters()
        return Response(selectors.plan_get(self.principal(), cluster, group_of(group), plan))

    @extend_schema(
        operation_id="plan_drop",
        parameters=[WriteParameters, *WRITES],
        request=None,
        responses={204: None, **failures(400, 403, 404, 409)},
    )
    def delete(self, request, cluster: str, group: str, plan: uuid.UUID):
        """Drops a plan; an armed one is disarmed."""
        dry_run = self.parameters(WriteParameters)["dry_run"]
        group_id = group_of(group)

        def act():
            plan_drop(self.principal(), cluster, group_id, plan, dry_run=dry_run)
            return 204, None

        return self.once(act)


class PlanApplyView(ApiView):
    """Applying a plan."""

    @extend_schema(
        operation_id="plan_apply",
        parameters=[WriteParameters, *WRITES],
        request=None,
        responses={200: shapes.Written, **_WRITE_FAILURES},
    )
    def post(self, request, cluster: str, group: str, plan: uuid.UUID):
        """Writes what the plan says, once, if the group is still as it was; reads back what it wrote."""
        return _acted(self, plan_apply, cluster, group, plan)


class PlanJobView(ApiView):
    """Applying a plan of many partitions."""

    @extend_schema(
        operation_id="plan_apply_as_job",
        parameters=[WriteParameters, *WRITES],
        request=None,
        responses={202: shapes.PlanJob, 200: shapes.PlanJob, **_WRITE_FAILURES},
    )
    def post(self, request, cluster: str, group: str, plan: uuid.UUID):
        """Begins a job that applies the plan some hundred partitions at a time: with progress, cancel, and one undo for what
        was done. Follow it at `/api/v1/jobs/{id}/`."""
        dry_run = self.parameters(WriteParameters)["dry_run"]
        group_id, status = group_of(group), 200 if dry_run else 202
        return self.once(
            lambda: (status, plan_apply_as_job(self.principal(), cluster, group_id, plan, dry_run=dry_run))
        )


class PlanArmView(ApiView):
    """Arming a plan."""

    @extend_schema(
        operation_id="plan_arm",
        parameters=[WriteParameters, *WRITES],
        request=None,
        responses={200: shapes.Armed, **failures(400, 403, 404, 409, 503)},
    )
    def post(self, request, cluster: str, group: str, plan: uuid.UUID):
        """Lets the plan wait for the group to empty; then it is made anew and written at once."""
        return _acted(self, plan_arm, cluster, group, plan)


def _acted(view: ApiView, service: Callable[..., Any], cluster: str, group: str, plan: uuid.UUID) -> Response:
    dry_run = view.parameters(WriteParameters)["dry_run"]
    group_id = group_of(group)
    return view.once(lambda: (200, service(view.principal(), cluster, group_id, plan, dry_run=dry_run)))
