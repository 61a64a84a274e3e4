"""Jobs over REST: planned, started, followed, cancelled."""

from __future__ import annotations

import uuid

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from groups.api.base import ApiView, StrictSerializer, WriteParameters
from groups.api.parameters import PATTERN_LIMIT, PageParameters, group_query
from groups.api.schema import WRITES, failures
from groups.api.serializers import Listing
from groups.choices import GroupState, GroupType, ItemState, JobState
from groups.jobs import selectors, services
from groups.jobs.kinds import kinds

_WRITE_FAILURES = failures(400, 404, 409, 503)


class JobFilter(StrictSerializer):
    """Which groups: the filters of the groups list. One that asks nothing is refused."""

    search = serializers.CharField(required=False, trim_whitespace=False)
    regex = serializers.CharField(required=False, trim_whitespace=False, max_length=PATTERN_LIMIT)
    state = serializers.ListField(child=serializers.ChoiceField(choices=GroupState.choices), required=False)
    type = serializers.ListField(child=serializers.ChoiceField(choices=GroupType.choices), required=False)
    topic = serializers.CharField(required=False)
    min_lag = serializers.IntegerField(required=False, min_value=0, max_value=2**63 - 1)
    coordinator = serializers.IntegerField(required=False, min_value=-(2**31), max_value=2**31 - 1)
    group_ids = serializers.ListField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False),
        required=False,
        max_length=services.ITEMS_AT_MOST,
        help_text="These groups, as far as they pass the other filters too.",
    )


class NewJob(StrictSerializer):
    """Work to plan. `groups_delete` takes no parameters; `groups_reset` takes those of a reset plan."""

    kind = serializers.CharField()
    filter = JobFilter()
    params = serializers.DictField(default=dict)

    def validate_kind(self, value: str) -> str:
        if value not in kinds:
            raise serializers.ValidationError(f"One of {', '.join(sorted(kinds))}.")
        return value


class JobShape(serializers.Serializer):
    """A job and how far it is: of `total` groups, or partitions of one group, so many wait, are done, failed."""

    id = serializers.UUIDField()
    kind = serializers.CharField()
    label = serializers.CharField()
    unit = serializers.ChoiceField(choices=["group", "partition"], help_text="What is counted.")
    cluster = serializers.CharField()
    params = serializers.DictField()
    state = serializers.ChoiceField(choices=JobState.choices)
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField(allow_null=True)
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    total = serializers.IntegerField()
    waiting = serializers.IntegerField()
    done = serializers.IntegerField()
    failed = serializers.IntegerField()


class PlannedJob(JobShape):
    group_ids = serializers.ListField(child=serializers.CharField(), help_text="The first thousand of its groups.")
    left_out = serializers.IntegerField(
        help_text="Groups that match and are left alone: they have members, or are not yours to change."
    )


class JobList(Listing):
    items = JobShape(many=True)


class JobItemShape(serializers.Serializer):
    number = serializers.IntegerField()
    group_id = serializers.CharField()
    key = serializers.CharField()
    topic = serializers.CharField(allow_null=True, help_text="Of a job on the partitions of a group.")
    partition = serializers.IntegerField(allow_null=True)
    state = serializers.ChoiceField(choices=ItemState.choices)
    message = serializers.CharField(allow_blank=True)


class JobItemList(Listing):
    items = JobItemShape(many=True)


class JobItemParameters(PageParameters):
    """Which items."""

    state = serializers.MultipleChoiceField(choices=ItemState.choices, required=False)


class JobPlanView(ApiView):
    """Planning of jobs on a cluster."""

    @extend_schema(
        operation_id="job_plan",
        parameters=[WriteParameters, *WRITES],
        request=NewJob,
        responses={201: PlannedJob, 200: PlannedJob, **_WRITE_FAILURES},
    )
    def post(self, request, cluster: str):
        """Names the groups that a job would work on; nothing is done until it is started."""
        dry_run = self.parameters(WriteParameters)["dry_run"]
        given = self.body(NewJob)
        query = group_query(given["filter"])

        def act():
            planned = services.job_plan(
                self.principal(), cluster, kind=given["kind"], query=query, params=given["params"], dry_run=dry_run
            )
            return 200 if dry_run else 201, planned

        return self.once(act)


class JobListView(ApiView):
    """Jobs."""

    @extend_schema(operation_id="jobs_list", parameters=[PageParameters], responses={200: JobList, **failures(400)})
    def get(self, request):
        """One's own jobs, the newest first; everybody's for an administrator."""
        return Response(selectors.job_list(self.principal(), **self.parameters(PageParameters)))


class JobView(ApiView):
    """One job."""

    @extend_schema(operation_id="job_get", responses={200: JobShape, **failures(404)})
    def get(self, request, job: uuid.UUID):
        """A job and how far it is."""
        self.parameters()
        return Response(selectors.job_get(self.principal(), job))

    @extend_schema(
        operation_id="job_cancel",
        parameters=[WriteParameters, *WRITES],
        request=None,
        responses={200: JobShape, **failures(400, 404, 409)},
    )
    def delete(self, request, job: uuid.UUID):
        """Cancels a job: what is done stays done."""
        dry_run = self.parameters(WriteParameters)["dry_run"]
        return self.once(lambda: (200, services.job_cancel(self.principal(), job, dry_run=dry_run)))


class JobStartView(ApiView):
    """Starting a job."""

    @extend_schema(
        operation_id="job_start",
        parameters=[WriteParameters, *WRITES],
        request=None,
        responses={202: JobShape, 200: JobShape, **failures(400, 404, 409)},
    )
    def post(self, request, job: uuid.UUID):
        """Starts a planned job."""
        dry_run = self.parameters(WriteParameters)["dry_run"]
        status = 200 if dry_run else 202
        return self.once(lambda: (status, services.job_start(self.principal(), job, dry_run=dry_run)))


class JobItemListView(ApiView):
    """What a job goes through."""

    @extend_schema(
        operation_id="job_items_list",
        parameters=[JobItemParameters],
        responses={200: JobItemList, **failures(400, 404)},
    )
    def get(self, request, job: uuid.UUID):
        """Each group, or each partition, and what came of it."""
        given = self.parameters(JobItemParameters)
        return Response(selectors.job_item_list(self.principal(), job, states=given.pop("state", ()), **given))
