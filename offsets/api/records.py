"""The records around a committed offset, a time or an offset, over REST."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.response import Response

from groups.api.base import ApiView, StrictSerializer, group_of
from groups.api.schema import failures
from offsets.api import serializers as shapes
from offsets.decoding.values import AUTO, SHOWN_AS
from offsets.record_selectors import RECORDS_AROUND, RECORDS_SEARCHED, RecordQuery, record_list
from offsets.requests import moment_of

SEARCH_LENGTH = 200


class RecordParameters(StrictSerializer):
    """Which partition, where in it, and how many records on each side."""

    topic = serializers.CharField(max_length=shapes.TOPIC_LENGTH)
    partition = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    around = serializers.IntegerField(default=5, min_value=1, max_value=RECORDS_AROUND)
    offset = serializers.IntegerField(
        required=False, min_value=0, max_value=2**63 - 1, help_text="Look here, not at the committed offset."
    )
    at = serializers.CharField(
        required=False, help_text="Look at the first record at or after this moment (ISO 8601 with its zone)."
    )
    search = serializers.CharField(
        required=False,
        trim_whitespace=False,
        max_length=SEARCH_LENGTH,
        help_text=f"Only records that show this text, among {RECORDS_SEARCHED} on each side; case does not matter.",
    )
    show_as = serializers.ChoiceField(
        choices=SHOWN_AS, default=AUTO, help_text="auto: as what the bytes are; text or hex whatever they are."
    )

    def validate_at(self, value: str) -> datetime:
        try:
            return moment_of(value)
        except ValueError as problem:
            raise serializers.ValidationError(f"{problem}.") from problem

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "offset" in attrs and "at" in attrs:
            raise serializers.ValidationError({"at": ["Either an offset or a time."]})
        return attrs


def record_query(given: dict[str, Any], **more: Any) -> RecordQuery:
    """Checked parameters as the selector takes them."""
    at = given.get("at")
    at_ms = None if at is None else max(0, round(at.timestamp() * 1_000))
    return RecordQuery(**{**given, "at": at_ms, **more})


class RecordListView(ApiView):
    """The records around a place of a log."""

    @extend_schema(
        operation_id="records_list",
        parameters=[RecordParameters],
        responses={200: shapes.RecordList, **failures(400, 404, 502, 503, 504)},
    )
    def get(self, request, cluster: str, group: str):
        """What was done last and what comes next; the group takes no notice."""
        asked = record_query(self.parameters(RecordParameters))
        return Response(record_list(self.principal(), cluster, group_of(group), asked))
