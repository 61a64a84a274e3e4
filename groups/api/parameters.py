"""The parameters of addresses, as the API documents and checks them.

Rules: a value that makes no sense is refused (400), never read as something else.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rest_framework import serializers

from groups.api.base import StrictSerializer
from groups.choices import GroupState, GroupType
from groups.query import ORDERINGS, GroupQuery, Regex
from kaas.feed.types import CAUSES

PAGE_SIZE_LIMIT = 1_000
PATTERN_LIMIT = 1_000


class MomentField(serializers.DateTimeField):
    """A moment as ISO 8601 with its zone: one without a zone could mean several."""

    def enforce_timezone(self, value: datetime) -> datetime:
        if value.tzinfo is None:
            raise serializers.ValidationError("A moment needs its zone: add Z or an offset such as +02:00.")
        return super().enforce_timezone(value)


class PageParameters(StrictSerializer):
    """Which page of a list."""

    page = serializers.IntegerField(default=1, min_value=1, max_value=10_000_000)
    page_size = serializers.IntegerField(default=50, min_value=1, max_value=PAGE_SIZE_LIMIT)


class GroupListParameters(PageParameters):
    """What the groups list shows, in which order."""

    search = serializers.CharField(
        required=False, trim_whitespace=False, allow_blank=True, help_text="Part of the group id; case does not matter."
    )
    regex = serializers.CharField(
        required=False,
        trim_whitespace=False,
        allow_blank=True,
        max_length=PATTERN_LIMIT,
        help_text="RE2 expression that is found in the group id.",
    )
    state = serializers.MultipleChoiceField(choices=GroupState.choices, required=False)
    type = serializers.MultipleChoiceField(choices=GroupType.choices, required=False)
    topic = serializers.CharField(required=False, help_text="Groups that read this topic or committed there.")
    min_lag = serializers.IntegerField(required=False, min_value=0, max_value=2**63 - 1)
    coordinator = serializers.IntegerField(required=False, min_value=-(2**31), max_value=2**31 - 1)
    ordering = serializers.ChoiceField(
        choices=ORDERINGS, default="group_id", help_text="A column; with - in front the largest first."
    )


def group_query(given: dict[str, Any]) -> GroupQuery:
    """Checked parameters as a question; a filter alone, as jobs have it, asks for no order and no page.

    Raises Problem (400) for a regular expression that does not compile.
    """
    return GroupQuery(
        search=given.get("search", ""),
        regex=Regex(given["regex"]) if given.get("regex") else None,
        states=frozenset(given.get("state", ())),
        types=frozenset(given.get("type", ())),
        topic=given.get("topic", ""),
        min_lag=given.get("min_lag"),
        coordinator=given.get("coordinator"),
        group_ids=frozenset(given["group_ids"]) if "group_ids" in given else None,
        **{name: given[name] for name in ("ordering", "page", "page_size") if name in given},
    )


class RebalanceListParameters(PageParameters):
    """Which rebalances of a group. `from` and `to` are ISO 8601 with their zone: it ended then or later, and before."""

    cause = serializers.MultipleChoiceField(choices=CAUSES, required=False)
    to = MomentField(required=False)

    def get_fields(self):
        fields = super().get_fields()
        fields["from"] = MomentField(required=False)
        return fields


def rebalance_query(given: dict[str, Any]) -> dict[str, Any]:
    """Checked parameters as `selectors.rebalance_list` takes them."""
    names = {"cause": "causes", "from": "begin", "to": "end"}
    return {names.get(name, name): value for name, value in given.items()}


class AuditParameters(PageParameters):
    """Which audit rows."""

    cluster = serializers.CharField(required=False, max_length=64)
    group_id = serializers.CharField(required=False, allow_blank=True, trim_whitespace=False)
    actor = serializers.CharField(required=False, max_length=400)
    action = serializers.CharField(required=False, max_length=40)
