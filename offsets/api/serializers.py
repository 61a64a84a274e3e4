"""The shapes of answers and bodies about offsets."""

from __future__ import annotations

from rest_framework import serializers

from groups.api.base import StrictSerializer
from groups.api.jobs import JobShape
from groups.api.serializers import Listing, Problem
from groups.choices import LagState
from offsets.choices import PlanStatus, Strategy, WriteOutcome

TOPIC_LENGTH = 249
"""Kafka's longest topic name."""

TOPICS_LIMIT = 10_000
PARTITIONS_LIMIT = 100_000


class Offset(serializers.Serializer):
    """A partition as a group stands in it. Numbers above 2^53 have a twin `<name>_str`."""

    topic = serializers.CharField()
    partition = serializers.IntegerField()
    log_start = serializers.IntegerField(allow_null=True)
    committed = serializers.IntegerField(allow_null=True)
    log_end = serializers.IntegerField(allow_null=True)
    last_stable = serializers.IntegerField(allow_null=True)
    lag = serializers.IntegerField(allow_null=True, help_text="Records between `committed` and `log_end`.")
    lag_stable = serializers.IntegerField(
        allow_null=True,
        help_text="Records between `committed` and `last_stable`: what waits for isolation.level=read_committed.",
    )
    lag_state = serializers.ChoiceField(choices=LagState.choices)
    lost = serializers.IntegerField(help_text="Records between the commit and the log's start, which are gone.")
    metadata = serializers.CharField(allow_null=True, allow_blank=True)
    leader_epoch = serializers.IntegerField(allow_null=True)
    committed_at = serializers.DateTimeField(allow_null=True)
    owner = serializers.CharField(allow_null=True, help_text="Member id.")
    owner_client_id = serializers.CharField(allow_null=True)


class OffsetList(Listing):
    items = Offset(many=True)


class TopicScope(StrictSerializer):
    """A topic, and which of its partitions; all of them when left out."""

    topic = serializers.CharField(max_length=TOPIC_LENGTH)
    partitions = serializers.ListField(
        child=serializers.IntegerField(min_value=0, max_value=2**31 - 1), required=False, max_length=PARTITIONS_LIMIT
    )


class Scope(StrictSerializer):
    """Either `{all: true}` or `{topics: [...]}`; no topics means nothing."""

    all = serializers.BooleanField(required=False)
    topics = TopicScope(many=True, required=False, max_length=TOPICS_LIMIT)


class PlanRequest(StrictSerializer):
    """A reset to plan. `value`: offset and shift an integer; timestamp ISO 8601 with its zone; duration ISO 8601 (PT1H:
    that long ago); csv lines of topic,partition,offset; group another group id; earliest, latest and current null."""

    strategy = serializers.ChoiceField(choices=Strategy.choices)
    value = serializers.JSONField(required=False, allow_null=True, default=None)
    scope = Scope()


class PlanItem(serializers.Serializer):
    """What happens to one partition; null `after`: nothing, for the reason in `note`."""

    topic = serializers.CharField()
    partition = serializers.IntegerField()
    before = serializers.IntegerField(allow_null=True)
    after = serializers.IntegerField(allow_null=True)
    note = serializers.CharField(allow_null=True)
    skipped = serializers.IntegerField()
    replayed = serializers.IntegerField()


class Plan(serializers.Serializer):
    """A plan; in a dry run it has no id and is not kept."""

    id = serializers.UUIDField(allow_null=True)
    group_id = serializers.CharField()
    status = serializers.ChoiceField(choices=PlanStatus.choices)
    strategy = serializers.ChoiceField(choices=Strategy.choices)
    value = serializers.JSONField(allow_null=True)
    scope = Scope()
    state = serializers.CharField(help_text="The group's state when it was planned.")
    created_by = serializers.CharField()
    expires_at = serializers.DateTimeField()
    applicable = serializers.BooleanField()
    reason = serializers.CharField(allow_null=True)
    items = PlanItem(many=True)
    command = serializers.CharField(help_text="The same with Kafka's own tool.")
    csv = serializers.CharField(help_text="The targets in the format of Kafka's own tool.")
    errors = Problem(many=True)


class WrittenItem(serializers.Serializer):
    """What came of one partition: what was to be written, and what reads back."""

    topic = serializers.CharField()
    partition = serializers.IntegerField()
    before = serializers.IntegerField(allow_null=True)
    after = serializers.IntegerField(allow_null=True)
    read_back = serializers.IntegerField(allow_null=True)
    error = Problem(allow_null=True)


class Written(serializers.Serializer):
    id = serializers.CharField()
    outcome = serializers.ChoiceField(choices=WriteOutcome.choices)
    items = WrittenItem(many=True)


class PlanJob(serializers.Serializer):
    """A plan that is applied as a job; in a dry run there is none."""

    id = serializers.UUIDField(help_text="The plan.")
    partitions = serializers.IntegerField(help_text="How many are written.")
    job = JobShape(allow_null=True)


class Armed(serializers.Serializer):
    id = serializers.UUIDField()
    armed = serializers.BooleanField()
    expires_at = serializers.DateTimeField()


class UndoItem(serializers.Serializer):
    """A reset or deletion whose offsets are kept: `action` is that of its audit row."""

    id = serializers.CharField()
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    action = serializers.CharField()
    topics = serializers.ListField(child=serializers.CharField())
    partitions = serializers.IntegerField(help_text="How many it touched.")


class UndoList(Listing):
    items = UndoItem(many=True)


class UndoRequest(StrictSerializer):
    """Which of them; the newest when left out."""

    id = serializers.RegexField("^[0-9]{1,18}$", required=False)


class OffsetDeletion(StrictSerializer):
    """Which offsets to delete: topics, and which of their partitions; all committed ones when left out."""

    topics = TopicScope(many=True, allow_empty=False, max_length=TOPICS_LIMIT)


class DeletedOffset(serializers.Serializer):
    topic = serializers.CharField()
    partition = serializers.IntegerField()
    before = serializers.IntegerField(allow_null=True)
    error = Problem(allow_null=True)


class DeletedOffsets(serializers.Serializer):
    group_id = serializers.CharField()
    dry_run = serializers.BooleanField()
    items = DeletedOffset(many=True)


class SchemaOfValue(serializers.Serializer):
    """The schema that a value says it was written with; kind and name are null where it was not read with it."""

    id = serializers.IntegerField()
    kind = serializers.CharField(allow_null=True)
    name = serializers.CharField(allow_null=True)


class Shown(serializers.Serializer):
    """Bytes as people read them; `size` counts all of them, `cut` says that not all are shown, `note` why a value with a
    schema is shown as bytes."""

    encoding = serializers.ChoiceField(choices=["text", "json", "hex"], allow_null=True)
    data = serializers.CharField(allow_null=True)
    size = serializers.IntegerField()
    cut = serializers.BooleanField()
    schema = SchemaOfValue(allow_null=True)
    note = serializers.CharField(allow_null=True)


class Header(serializers.Serializer):
    key = serializers.CharField()
    value = Shown()


class RecordItem(serializers.Serializer):
    topic = serializers.CharField()
    partition = serializers.IntegerField()
    offset = serializers.IntegerField()
    timestamp = serializers.DateTimeField(allow_null=True)
    key = Shown()
    value = Shown()
    headers = Header(many=True)
    side = serializers.ChoiceField(choices=["before", "after"])


class OutOfRange(serializers.Serializer):
    """An offset that was asked for, or is committed, and that the log does not hold: the records shown are the nearest."""

    offset = serializers.IntegerField()
    message = serializers.CharField(help_text="Why, and where the log begins and ends now.")


class RecordList(Listing):
    """Records in order. `looked_from` up to `looked_to` (not included) was looked at, around `centre`."""

    committed = serializers.IntegerField(allow_null=True)
    log_start = serializers.IntegerField(allow_null=True)
    log_end = serializers.IntegerField(allow_null=True)
    centre = serializers.IntegerField()
    looked_from = serializers.IntegerField()
    looked_to = serializers.IntegerField()
    out_of_range = OutOfRange(allow_null=True)
    items = RecordItem(many=True)
