"""The shapes of answers and bodies, for the documentation and for checking what comes in.

Rules: selectors and services make the rows; these classes say what is in them, and refuse what no body may hold.
"""

from __future__ import annotations

from rest_framework import serializers

from groups.api.base import StrictSerializer
from groups.choices import GroupType, LagStatus, Outcome, Role
from groups.models.access import PATTERN_LENGTH
from groups.services import REASON_LENGTH

# What is not known is null; what a serializer field "has" in an answer is always there.


class Problem(serializers.Serializer):
    """What went wrong: the body of every failed request, and the rows of `errors`."""

    resource = serializers.CharField()
    kind = serializers.CharField()
    code = serializers.CharField()
    code_number = serializers.IntegerField(allow_null=True, help_text="Kafka's error code, where Kafka refused.")
    message = serializers.CharField()
    retriable = serializers.BooleanField()
    details = serializers.DictField(required=False, help_text="What is wrong, per field.")


class Listing(serializers.Serializer):
    """What every list has beside its items."""

    errors = Problem(many=True)
    total = serializers.IntegerField()
    page = serializers.IntegerField()
    snapshot_age_ms = serializers.IntegerField(allow_null=True)


class Cluster(serializers.Serializer):
    """A Kafka cluster, and how it is read."""

    name = serializers.CharField()
    bootstrap = serializers.CharField()
    source = serializers.ChoiceField(choices=["feed", "tail", "poll"])
    read_only = serializers.BooleanField()
    connected = serializers.BooleanField()
    snapshot_age_ms = serializers.IntegerField(allow_null=True)
    group_count = serializers.IntegerField()
    topic_count = serializers.IntegerField()
    broker_count = serializers.IntegerField()


class ClusterList(Listing):
    items = Cluster(many=True)


class LastRebalance(serializers.Serializer):
    at = serializers.DateTimeField()
    cause = serializers.CharField()
    cause_text = serializers.CharField()
    duration_ms = serializers.IntegerField()


class GroupItem(serializers.Serializer):
    """A group in a list. `total_lag` has a twin `total_lag_str` above 2^53."""

    cluster = serializers.CharField()
    group_id = serializers.CharField()
    key = serializers.CharField(help_text="The group's segment in addresses.")
    state = serializers.CharField(help_text="Kafka's word.")
    type = serializers.ChoiceField(choices=GroupType.choices)
    protocol = serializers.CharField()
    member_count = serializers.IntegerField()
    topics = serializers.ListField(child=serializers.CharField())
    total_lag = serializers.IntegerField(allow_null=True)
    lag_status = serializers.ChoiceField(choices=LagStatus.choices)
    last_rebalance = LastRebalance(allow_null=True)
    coordinator = serializers.IntegerField()
    error = serializers.CharField(allow_null=True)


class GroupList(Listing):
    items = GroupItem(many=True)
    counters = serializers.DictField(child=serializers.IntegerField(), help_text="Groups by state.")


class TopicGroupItem(GroupItem):
    topic_lag = serializers.IntegerField(allow_null=True, help_text="The group's lag in this topic alone.")


class TopicGroupList(Listing):
    items = TopicGroupItem(many=True)


class Assignment(serializers.Serializer):
    topic = serializers.CharField()
    partitions = serializers.ListField(child=serializers.IntegerField())


class AwaitedPartitions(Assignment):
    """Partitions that a member is to get, and who still holds them."""

    member_id = serializers.CharField()
    name = serializers.CharField()


class Member(serializers.Serializer):
    """A member of a group. Null `subscription` or `assignment`: it could not be decoded, and `…_raw` has the bytes.

    In a consumer group a member goes from its assignment to its target at its own pace: it gives up what is no longer its own,
    gets what is free, and waits for what another member has not given up yet.
    """

    member_id = serializers.CharField()
    key = serializers.CharField()
    instance_id = serializers.CharField(allow_null=True)
    client_id = serializers.CharField()
    host = serializers.CharField()
    state = serializers.CharField()
    epoch = serializers.IntegerField(
        help_text="The generation or group epoch that the member is at; -2 for a static member that is away."
    )
    kind = serializers.CharField(help_text="The protocol that the member speaks: classic or consumer.")
    server_assignor = serializers.CharField(
        allow_null=True, help_text="The assignor that it asks for, in a consumer group."
    )
    rack_id = serializers.CharField(allow_null=True)
    is_leader = serializers.BooleanField()
    subscription = serializers.ListField(child=serializers.CharField(), allow_null=True)
    subscription_regex = serializers.CharField(allow_null=True)
    subscription_raw = serializers.CharField(allow_null=True)
    assignment = Assignment(many=True, allow_null=True)
    target_assignment = Assignment(many=True, allow_null=True)
    assignment_raw = serializers.CharField(allow_null=True)
    gives_up = Assignment(many=True, help_text="What it was told to give up and may still hold.")
    gets = Assignment(many=True, help_text="What is free and its own as of its next heartbeat.")
    waits_for = AwaitedPartitions(many=True)
    lag = serializers.IntegerField(allow_null=True)
    session_timeout_ms = serializers.IntegerField()
    rebalance_timeout_ms = serializers.IntegerField()
    last_heartbeat_at = serializers.DateTimeField(allow_null=True)
    last_heartbeat_ms_ago = serializers.IntegerField(allow_null=True)
    joined_at = serializers.DateTimeField(allow_null=True)


class MemberList(Listing):
    items = Member(many=True)


class WaitingFor(serializers.Serializer):
    member_id = serializers.CharField(allow_null=True)
    client_id = serializers.CharField(allow_null=True)
    timer = serializers.CharField(help_text="What ends the wait.")
    since = serializers.DateTimeField(allow_null=True, help_text="Null where it is waited for since the phase began.")
    deadline = serializers.DateTimeField()


class Phase(serializers.Serializer):
    name = serializers.CharField()
    since = serializers.DateTimeField()
    waiting_for = WaitingFor(many=True, help_text="The first few of them.")
    waiting_count = serializers.IntegerField()


class EndedPhase(serializers.Serializer):
    name = serializers.CharField()
    duration_ms = serializers.IntegerField()


class AlsoCause(serializers.Serializer):
    cause = serializers.CharField()
    cause_text = serializers.CharField()
    member_id = serializers.CharField(allow_null=True)
    detail = serializers.DictField()


class RunningRebalance(serializers.Serializer):
    started_at = serializers.DateTimeField()
    cause = serializers.CharField()
    cause_text = serializers.CharField()
    member_id = serializers.CharField(allow_null=True)
    also = AlsoCause(many=True)
    phases = EndedPhase(many=True)
    generation_before = serializers.IntegerField()
    members_before = serializers.IntegerField()


class Action(serializers.Serializer):
    allowed = serializers.BooleanField()
    reason = serializers.CharField(allow_null=True)


class ArmedReset(serializers.Serializer):
    id = serializers.CharField()
    by = serializers.CharField()
    at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()


class Group(GroupItem):
    """A group described. `generation` stands for classic groups, the epochs for consumer groups."""

    total_lag_stable = serializers.IntegerField(
        allow_null=True,
        help_text="Lag to the last stable offsets: what waits for isolation.level=read_committed. `total_lag` counts to the "
        "logs' ends. A broker does not know which of the two a group reads.",
    )
    topic_members = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="How many members read each topic: they subscribe to it or own a part.",
    )
    uncommitted = serializers.IntegerField(
        help_text="Partitions that a member owns and nobody committed in; `total_lag` cannot count them."
    )
    state_since = serializers.DateTimeField()
    protocol_type = serializers.CharField()
    generation = serializers.IntegerField(allow_null=True)
    group_epoch = serializers.IntegerField(allow_null=True)
    assignment_epoch = serializers.IntegerField(allow_null=True)
    leader = serializers.CharField(allow_null=True)
    pending_members = serializers.IntegerField()
    classic_member_count = serializers.IntegerField(
        allow_null=True, help_text="Members of a consumer group that speak the classic protocol; null for other types."
    )
    members = Member(many=True)
    phase = Phase()
    rebalance = RunningRebalance(allow_null=True)
    actions = serializers.DictField(child=Action())
    source = serializers.CharField()
    armed_reset = ArmedReset(allow_null=True)
    snapshot_age_ms = serializers.IntegerField(allow_null=True)


class Moved(serializers.Serializer):
    """A partition that changed hands; null: nobody had it, or nobody has it. `without_ms`: how long nobody read it, null while
    nobody has it and where that is not known."""

    topic = serializers.CharField()
    partition = serializers.IntegerField()
    without_ms = serializers.IntegerField(allow_null=True, default=None)

    def get_fields(self):
        fields = super().get_fields()
        fields["from"] = serializers.CharField(allow_null=True)
        fields["to"] = serializers.CharField(allow_null=True)
        return fields


class MemberPart(serializers.Serializer):
    """What one member did in a rebalance; times are milliseconds after it began, null for what did not happen."""

    member_id = serializers.CharField()
    name = serializers.CharField(allow_blank=True)
    is_new = serializers.BooleanField()
    joined_ms = serializers.IntegerField(allow_null=True)
    synced_ms = serializers.IntegerField(allow_null=True)
    gone_ms = serializers.IntegerField(allow_null=True)
    gone = serializers.CharField(allow_null=True)


class Rebalance(serializers.Serializer):
    """A rebalance that ended. `without_ms`: how long each member was without partitions; `parts`: what each member did, empty
    where that is not known. The generations of a `consumer` rebalance are group epochs, and the times of its parts are when a
    member had nothing left to give up (`joined_ms`) and when it had all that it was to have (`synced_ms`)."""

    kind = serializers.CharField(help_text="classic or consumer.")
    number = serializers.IntegerField()
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField()
    duration_ms = serializers.IntegerField()
    phases = EndedPhase(many=True)
    cause = serializers.CharField()
    cause_text = serializers.CharField()
    member_id = serializers.CharField(allow_null=True)
    detail = serializers.DictField()
    advice = serializers.CharField(allow_null=True, help_text="What to look at, and the setting that matters.")
    also = AlsoCause(many=True)
    outcome = serializers.CharField()
    generation_before = serializers.IntegerField()
    generation_after = serializers.IntegerField()
    members_before = serializers.IntegerField()
    members_after = serializers.IntegerField()
    moved = Moved(many=True)
    moved_count = serializers.IntegerField()
    kept = serializers.IntegerField()
    without_ms = serializers.DictField(child=serializers.IntegerField())
    parts = MemberPart(many=True)


class Flapping(serializers.Serializer):
    """What makes a group rebalance again and again: in `count` of the last `of` rebalances."""

    cause = serializers.CharField()
    who = serializers.CharField(allow_blank=True)
    count = serializers.IntegerField()
    of = serializers.IntegerField()
    text = serializers.CharField()
    advice = serializers.CharField(allow_null=True)


class RebalanceList(Listing):
    items = Rebalance(many=True)
    flapping = Flapping(allow_null=True)


class Topic(serializers.Serializer):
    topic = serializers.CharField()
    partition_count = serializers.IntegerField()
    internal = serializers.BooleanField()
    known = serializers.BooleanField(help_text="Whether the cluster lists it (still).")
    group_count = serializers.IntegerField()


class TopicList(Listing):
    items = Topic(many=True)


class Broker(serializers.Serializer):
    id = serializers.IntegerField()
    host = serializers.CharField()
    port = serializers.IntegerField()
    state = serializers.ChoiceField(choices=["alive", "draining", "dead", "read_only"])
    lease_age_ms = serializers.IntegerField()
    assignment_version = serializers.IntegerField()
    group_count = serializers.IntegerField()
    error = serializers.CharField(allow_null=True)


class BrokerList(Listing):
    items = Broker(many=True)


class AuditRow(serializers.Serializer):
    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    actor = serializers.CharField()
    action = serializers.CharField()
    cluster = serializers.CharField(allow_blank=True)
    group_id = serializers.CharField(allow_blank=True)
    before = serializers.JSONField(allow_null=True)
    after = serializers.JSONField(allow_null=True)
    outcome = serializers.ChoiceField(choices=Outcome.choices)
    message = serializers.CharField(allow_blank=True)


class AuditList(Listing):
    items = AuditRow(many=True)


class CommittedOffset(serializers.Serializer):
    topic = serializers.CharField()
    partition = serializers.IntegerField()
    committed = serializers.IntegerField()


class DeletedGroup(serializers.Serializer):
    group_id = serializers.CharField()
    deleted = serializers.BooleanField()
    dry_run = serializers.BooleanField()
    offsets = CommittedOffset(many=True, help_text="What goes with the group; undo puts it back.")


class MemberRemoval(StrictSerializer):
    """Why a member is removed; the member's client and the history are told."""

    reason = serializers.CharField(default="", allow_blank=True, max_length=REASON_LENGTH)


class RemovedMember(serializers.Serializer):
    group_id = serializers.CharField()
    member_id = serializers.CharField()
    removed = serializers.BooleanField()
    dry_run = serializers.BooleanField()


class NewToken(StrictSerializer):
    """A token to make: what it may do, on which clusters and groups (shell patterns), until when (null: for ever)."""

    name = serializers.CharField(max_length=200)
    role = serializers.ChoiceField(choices=Role.choices)
    cluster = serializers.CharField(default="*", max_length=PATTERN_LENGTH)
    group_pattern = serializers.CharField(default="*", max_length=PATTERN_LENGTH, trim_whitespace=False)
    expires_at = serializers.DateTimeField(default=None, allow_null=True)


class Token(serializers.Serializer):
    id = serializers.IntegerField()
    name = serializers.CharField()
    owner = serializers.CharField()
    role = serializers.ChoiceField(choices=Role.choices)
    cluster = serializers.CharField()
    group_pattern = serializers.CharField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="Right to a minute; null: never.")


class MadeToken(Token):
    """A new token; in a dry run it has neither id nor text."""

    id = serializers.IntegerField(allow_null=True)
    created_at = serializers.DateTimeField(allow_null=True)
    token = serializers.CharField(allow_null=True, help_text="Shown this once.")


class TokenList(Listing):
    items = Token(many=True)
