"""Lag over time over REST."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from groups.api.base import ApiView, StrictSerializer, group_of
from groups.api.parameters import MomentField
from groups.api.schema import failures
from groups.api.serializers import Listing
from groups.choices import LagStatus
from groups.lag import selectors
from groups.problems import invalid
from groups.times import milliseconds

TOPIC_LENGTH = 249
"""Kafka's longest topic name."""

POINTS_LIMIT = 1_000
SHOWN = timedelta(hours=1)
"""How much is shown when nobody says from when."""


class LagParameters(StrictSerializer):
    """Which part of a group, and which time. `from` and `to` are ISO 8601 with their zone."""

    topic = serializers.CharField(required=False, max_length=TOPIC_LENGTH)
    partition = serializers.IntegerField(required=False, min_value=0, max_value=2**31 - 1, help_text="Of that topic.")
    to = MomentField(required=False, help_text="The present moment when left out.")
    points = serializers.IntegerField(default=120, min_value=1, max_value=POINTS_LIMIT)

    def get_fields(self):
        fields = super().get_fields()
        fields["from"] = MomentField(required=False, help_text="An hour before `to` when left out.")
        return fields


class LagPoint(serializers.Serializer):
    """A moment at which every group was looked at. `lag` counts to the logs' ends; `committed` and `log_end` are the sums it
    is the difference of. All are null where nothing was known. Numbers above 2^53 have a twin `<name>_str`."""

    at = serializers.DateTimeField()
    lag = serializers.IntegerField(allow_null=True)
    committed = serializers.IntegerField(allow_null=True)
    log_end = serializers.IntegerField(allow_null=True)


class Behind(serializers.Serializer):
    """How old the oldest record is that waits. `resolution_ms`: how far off that may be; `at_least`: it is older, and `ms` is
    how far samples reach."""

    ms = serializers.IntegerField()
    resolution_ms = serializers.IntegerField()
    at_least = serializers.BooleanField()


class LagNow(serializers.Serializer):
    """What is known of a group's lag now. The rates are those of the last two minutes, null while those are not full."""

    total_lag = serializers.IntegerField(allow_null=True)
    lag_status = serializers.ChoiceField(choices=LagStatus.choices)
    lag_status_text = serializers.CharField(help_text="The rule that gave the status.")
    lag_status_topic = serializers.CharField(allow_null=True, help_text="Where: the worst partition.")
    lag_status_partition = serializers.IntegerField(allow_null=True)
    lag_status_others = serializers.IntegerField(help_text="Further partitions with the same status.")
    produced_per_s = serializers.FloatField(allow_null=True)
    consumed_per_s = serializers.FloatField(allow_null=True)
    rates_over_ms = serializers.IntegerField(allow_null=True)
    clears_in_ms = serializers.IntegerField(allow_null=True, help_text="Null: never at these rates, or not known.")
    clears_text = serializers.CharField()
    behind = Behind(allow_null=True)
    behind_text = serializers.CharField()


class LagStep(serializers.Serializer):
    step_ms = serializers.IntegerField()
    kept_ms = serializers.IntegerField()


class LagList(Listing):
    items = LagPoint(many=True)
    end = serializers.ChoiceField(choices=[selectors.LOG_END], help_text="What lag over time is counted to.")
    step_ms = serializers.IntegerField(help_text="The distance of the samples that the points were taken from.")
    kept = LagStep(many=True, help_text="Which samples are kept for how long.")
    now = LagNow(allow_null=True)


class LagView(ApiView):
    """The lag of a group."""

    @extend_schema(
        operation_id="lag_list",
        parameters=[LagParameters],
        responses={200: LagList, **failures(400, 404, 503)},
    )
    def get(self, request, cluster: str, group: str):
        """Lag over time, and how it stands: status with its reason, rates, time to clear, age of what waits."""
        given = _times(self.parameters(LagParameters))
        return Response(selectors.lag_list(self.principal(), cluster, group_of(group), **given))


def _times(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters with both moments in milliseconds.

    Raises Problem (400) for a partition without its topic, or a time that ends before it begins.
    """
    end = given.pop("to", None) or timezone.now()
    begin = given.pop("from", None) or end - SHOWN
    if begin >= end:
        raise invalid("`from` lies before `to`.", **{"from": ["lies after `to`"]})
    if "partition" in given and "topic" not in given:
        raise invalid("A partition needs its topic.", topic=["is missing"])
    return {**given, "begin_ms": milliseconds(begin), "end_ms": milliseconds(end)}
