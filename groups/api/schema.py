"""What the documentation says of every operation: how it fails, the header of writes, and an example of each body.

Must not know: operations one by one.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.serializers import ListSerializer

from groups import problems
from groups.api import serializers as shapes
from groups.api.base import IDEMPOTENCY_KEY
from groups.api.examples import example_of
from groups.api.parsers import too_large
from groups.idempotency import KEY_PATTERN
from groups.problems import Problem
from kaas.errors import ErrorCode

Document = dict[str, Any]
JSON = "application/json"
BODY = "Request"
"""How the names of shapes end that come in a body: these take no fields beside their own."""

WRITES = (
    OpenApiParameter(
        IDEMPOTENCY_KEY,
        type={"type": "string", "pattern": f"^{KEY_PATTERN}$"},
        location=OpenApiParameter.HEADER,
        description="A word of your own: a repeated request with it is done once, and answered alike for a day.",
    ),
)

_MEANINGS = {
    400: "A value makes no sense.",
    401: "Nobody is signed in, or the token opens nothing.",
    403: "Not granted, or the cluster is read-only.",
    404: "Unknown, or not visible.",
    406: "There is no such format.",
    409: "The group, the plan or the key is in a state that does not allow this.",
    413: "The body is too large.",
    415: "The body is no JSON.",
    429: "Too many requests: `Retry-After` says in how many seconds there are more.",
    502: "The cluster refused.",
    503: "The cluster or its feed is not connected.",
    504: "The cluster took too long.",
}


_GROUP = "group billing"
_PROBLEMS = {
    400: problems.invalid("These values make no sense: page_size.", page_size=["A valid integer is required."]),
    401: Problem(kind=problems.UNAUTHENTICATED, resource="request", message="This token opens nothing: it is over."),
    403: Problem(kind=problems.DENIED, resource=_GROUP, message="ann may read here; this needs the right to operate."),
    404: problems.not_found(_GROUP),
    406: Problem(kind=problems.NOT_ACCEPTABLE, resource="request", message="There is no format 'xml' here."),
    409: problems.from_kafka(ErrorCode.NON_EMPTY_GROUP, _GROUP),
    413: too_large(),
    415: Problem(
        kind=problems.UNSUPPORTED_MEDIA_TYPE,
        resource="request",
        message='Unsupported media type "text/xml" in request.',
    ),
    429: problems.too_often("API", 12),
    502: problems.from_kafka(ErrorCode.GROUP_AUTHORIZATION_FAILED, _GROUP),
    503: problems.not_connected("feed of local", "it was not read yet"),
    504: problems.timed_out("cluster local", 10_000),
}
"""An example of each failure, as it is answered."""

ALWAYS = (400, 401, 406, 429)
"""What every operation may answer: unknown parameters, no token, no such format, too many requests."""


def failures(*statuses: int) -> dict[tuple[int, str], Any]:
    """The error object for each status, and for those that every operation may answer."""
    all_of_them = sorted({*statuses, *ALWAYS})
    return {(status, JSON): OpenApiResponse(shapes.Problem, _MEANINGS[status]) for status in all_of_them}


class Schema(AutoSchema):
    """Documents what drf-spectacular leaves out: bodies of DELETE, which say what is deleted and why, and how many items a
    list of objects takes."""

    def _map_serializer_field(self, field: Any, direction: str, bypass_extensions: bool = False) -> Document:
        shape = super()._map_serializer_field(field, direction, bypass_extensions)
        if isinstance(field, ListSerializer) and direction == "request":
            shape |= {} if field.allow_empty else {"minItems": 1}
            shape |= {} if field.max_length is None else {"maxItems": field.max_length}
        return shape

    def _get_request_body(self, direction: str = "request") -> Document | None:
        if self.method != "DELETE":
            return super()._get_request_body(direction)
        self.method = "POST"
        try:
            return super()._get_request_body(direction)
        finally:
            self.method = "DELETE"


def complete(result: Document, generator: Any, request: Any, public: bool) -> Document:
    """Adds to the whole document what holds for every operation: drf-spectacular calls this when it is done."""
    shapes_of = result["components"]["schemas"]
    for name, shape in shapes_of.items():
        if name.endswith(BODY) and "properties" in shape:
            shape["additionalProperties"] = False
    for path in result["paths"].values():
        for method, operation in path.items():
            if method != "get":
                _document_bodies(operation, shapes_of)
            _document_wait(operation["responses"]["429"])
            for parameter in operation.get("parameters", ()):
                if parameter.get("required"):
                    parameter["example"] = example_of(parameter["schema"], shapes_of, parameter["name"])
            _give_example(operation.get("requestBody", {}), shapes_of)
            for status, answer in operation["responses"].items():
                _give_example(answer, shapes_of, _PROBLEMS.get(int(status)))
    return result


def _document_bodies(operation: Document, shapes_of: Document) -> None:
    if body := operation.get("requestBody"):
        shape = shapes_of[body["content"][JSON]["schema"]["$ref"].rpartition("/")[2]]
        body["required"] = bool(shape.get("required"))
    refused = operation["responses"]["400"]
    for status in (413, 415):
        operation["responses"][str(status)] = {**deepcopy(refused), "description": _MEANINGS[status]}
    operation["responses"] = dict(sorted(operation["responses"].items()))


def _document_wait(response: Document) -> None:
    response["headers"] = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds to wait."}}


def _give_example(body: Document, shapes_of: Document, problem: problems.Problem | None = None) -> None:
    if content := body.get("content", {}).get(JSON):
        content["example"] = problem.as_dict() if problem else example_of(content["schema"], shapes_of)
