"""What the documentation says of every operation: how it fails, and the header of writes."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from groups.api import serializers as shapes
from groups.api.base import IDEMPOTENCY_KEY

WRITES = (
    OpenApiParameter(
        IDEMPOTENCY_KEY,
        location=OpenApiParameter.HEADER,
        description="A word of your own: a repeated request with it is done once, and answered alike for a day.",
    ),
)

_MEANINGS = {
    400: "A value makes no sense.",
    401: "Nobody is signed in, or the token opens nothing.",
    403: "Not granted, or the cluster is read-only.",
    404: "Unknown, or not visible.",
    409: "The group, the plan or the key is in a state that does not allow this.",
    413: "The body is too large.",
    429: "Too often.",
    502: "The cluster refused.",
    503: "The cluster or its feed is not connected.",
    504: "The cluster took too long.",
}


def failures(*statuses: int) -> dict[int, Any]:
    """The error object for each status, and for those that every operation may answer."""
    all_of_them = sorted({*statuses, 401})
    return {status: OpenApiResponse(shapes.Problem, _MEANINGS[status]) for status in all_of_them}
