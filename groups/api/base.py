"""What all API views share: the principal, strict input, writes that are done once.

Rules: a view parses, calls one selector or service, and answers; unknown parameters and fields are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

from rest_framework import serializers
from rest_framework.response import Response
from rest_framework.views import APIView

from groups.access import Principal
from groups.api.negotiation import FORMAT
from groups.idempotency import KEY_LENGTH, KEY_PATTERN, answered_once
from groups.keys import id_of
from groups.problems import invalid, not_found

IDEMPOTENCY_KEY = "Idempotency-Key"


class StrictSerializer(serializers.Serializer):
    """A serializer that refuses fields it does not know."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if isinstance(data, dict) and (strange := data.keys() - self.fields.keys()):
            raise serializers.ValidationError({name: ["There is no such field."] for name in sorted(strange)})
        return super().to_internal_value(data)


class NoParameters(StrictSerializer):
    """A request without parameters."""


class WriteParameters(StrictSerializer):
    """What every write takes in its address."""

    dry_run = serializers.BooleanField(default=False, help_text="Say what would be done, and write nothing.")


Given = dict[str, Any]
Strict = TypeVar("Strict", bound=StrictSerializer)


class ApiView(APIView):
    """The base of every view under /api/v1/."""

    def principal(self) -> Principal:
        return self.request.user.principal

    def parameters(self, serializer: type[StrictSerializer] = NoParameters) -> Given:
        """The parameters of the address, checked.

        Raises ValidationError (400).
        """
        query = self.request.query_params
        several = {name: ["Given more than once."] for name, values in query.lists() if len(values) > 1}
        if wrong := {name: why for name, why in several.items() if not _takes_many(serializer, name)}:
            raise serializers.ValidationError(wrong)
        given = {name: query.getlist(name) if _takes_many(serializer, name) else query[name] for name in query}
        given.pop(FORMAT, None)
        return checked(serializer, given)

    def body(self, serializer: type[StrictSerializer]) -> Given:
        """The body, checked.

        Raises ValidationError (400).
        """
        return checked(serializer, self.request.data)

    def once(self, act: Callable[[], tuple[int, Any]]) -> Response:
        """Answers with what a write answers, doing it once for each Idempotency-Key."""
        key = self.request.headers.get(IDEMPOTENCY_KEY)
        if key is None:
            status, body = act()
        else:
            if not re.fullmatch(KEY_PATTERN, key):
                rule = f"has 1 to {KEY_LENGTH} visible ASCII characters"
                raise invalid(f"{IDEMPOTENCY_KEY} {rule}.", **{IDEMPOTENCY_KEY: [rule]})
            request = json.dumps([self.request.method, self.request.get_full_path(), self.request.data])
            status, body = answered_once(actor=self.principal().actor, key=key, request=request, act=act)
        return Response(body, status=status)


def checked(serializer: type[StrictSerializer], given: Any) -> Given:
    """Values as a serializer takes them.

    Raises ValidationError (400).
    """
    filled = serializer(data=given)
    filled.is_valid(raise_exception=True)
    return filled.validated_data


def group_of(key: str) -> str:
    """The group id behind a key in an address.

    Raises Problem (404): a key that stands for no id names no group.
    """
    return _id(key, "group")


def member_of(key: str) -> str:
    """The member id behind a key in an address.

    Raises Problem (404).
    """
    return _id(key, "member")


def _id(key: str, what: str) -> str:
    try:
        return id_of(key)
    except ValueError as problem:
        raise not_found(f"{what} {key}") from problem


def _takes_many(serializer: type[StrictSerializer], name: str) -> bool:
    return isinstance(serializer().fields.get(name), (serializers.ListField, serializers.MultipleChoiceField))
