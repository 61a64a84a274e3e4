"""What goes wrong, as data that people and scripts can act on; and the one place where Kafka's errors become HTTP's.

Job: the exception `Problem`, one constructor per kind, and the mapping of Kafka's error codes.
Rules: the message is a sentence that names the thing, says why, and what to do; every transport shows the same object.
Must not know: requests, responses, Redis.
Source of codes: kaas.errors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kaas.errors import ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of problem: its word, its HTTP status, whether the same request may help later."""

    name: str
    status: int
    retriable: bool = False


INVALID = Kind(name="invalid", status=400)
UNAUTHENTICATED = Kind(name="unauthenticated", status=401)
DENIED = Kind(name="denied", status=403)
READ_ONLY = Kind(name="read_only", status=403)
NOT_FOUND = Kind(name="not_found", status=404)
METHOD_NOT_ALLOWED = Kind(name="method_not_allowed", status=405)
NOT_ACCEPTABLE = Kind(name="not_acceptable", status=406)
WRONG_STATE = Kind(name="wrong_state", status=409)
CONFLICT = Kind(name="conflict", status=409, retriable=True)
TOO_LARGE = Kind(name="too_large", status=413)
UNSUPPORTED_MEDIA_TYPE = Kind(name="unsupported_media_type", status=415)
RATE_LIMITED = Kind(name="rate_limited", status=429, retriable=True)
FAILED = Kind(name="failed", status=500)
REFUSED = Kind(name="refused", status=502)
NOT_CONNECTED = Kind(name="not_connected", status=503, retriable=True)
TIMEOUT = Kind(name="timeout", status=504, retriable=True)


@dataclass(slots=True, kw_only=True)
class Problem(Exception):
    """A request that is not done.

    `resource` names what it is about ("group orders"); `code` is a short word for scripts: Kafka's name where Kafka
    refused, and then `code_number` is Kafka's number; `details` holds what is wrong per field; `retry_after_s` says when
    the same may be asked again.
    """

    kind: Kind
    resource: str
    message: str
    code: str = ""
    code_number: int | None = None
    details: dict[str, Any] = field(default_factory=dict)
    retry_after_s: int | None = None

    def __str__(self) -> str:
        return self.message

    def as_dict(self) -> dict[str, Any]:
        """The error object of CONSOLE's API: `resource, kind, code, code_number, message, retriable`, and `details`
        where a field is to blame."""
        row = {
            "resource": self.resource,
            "kind": self.kind.name,
            "code": self.code or self.kind.name.upper(),
            "code_number": self.code_number,
            "message": self.message,
            "retriable": self.kind.retriable,
        }
        return {**row, "details": self.details} if self.details else row


def invalid(message: str, *, resource: str = "request", **details: Any) -> Problem:
    """A value that makes no sense; `details` are the fields to blame."""
    return Problem(kind=INVALID, resource=resource, message=message, details=details)


def not_found(resource: str) -> Problem:
    """What is not there, or not for these eyes: both look alike."""
    return Problem(kind=NOT_FOUND, resource=resource, message=f"There is no {resource}.")


def too_often(resource: str, wait_s: int) -> Problem:
    """An allowance is spent; there is more of it after `wait_s` seconds."""
    message = f"Too many requests: ask again in {wait_s} s."
    return Problem(kind=RATE_LIMITED, resource=resource, message=message, retry_after_s=wait_s)


def wrong_state(resource: str, message: str, code: ErrorCode | None = None) -> Problem:
    """The thing is there, but not in a state that allows this."""
    if code is None:
        return Problem(kind=WRONG_STATE, resource=resource, message=message)
    return Problem(kind=WRONG_STATE, resource=resource, message=message, code=code.name, code_number=int(code))


def not_connected(resource: str, why: str) -> Problem:
    """The cluster or its feed does not answer at the moment."""
    return Problem(kind=NOT_CONNECTED, resource=resource, message=f"The {resource} does not answer: {why}.")


def timed_out(resource: str, timeout_ms: int) -> Problem:
    """The cluster took longer than it may."""
    message = f"The {resource} did not answer within {timeout_ms} ms. It may still do what was asked: look, then retry."
    return Problem(kind=TIMEOUT, resource=resource, message=message)


_KINDS_OF_CODES = {
    ErrorCode.NON_EMPTY_GROUP: WRONG_STATE,
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: WRONG_STATE,
    ErrorCode.UNKNOWN_MEMBER_ID: WRONG_STATE,
    ErrorCode.ILLEGAL_GENERATION: WRONG_STATE,
    ErrorCode.REBALANCE_IN_PROGRESS: WRONG_STATE,
    ErrorCode.STALE_MEMBER_EPOCH: WRONG_STATE,
    ErrorCode.FENCED_INSTANCE_ID: WRONG_STATE,
    ErrorCode.UNSTABLE_OFFSET_COMMIT: CONFLICT,
    ErrorCode.GROUP_ID_NOT_FOUND: NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: NOT_FOUND,
    ErrorCode.UNKNOWN_TOPIC_ID: NOT_FOUND,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: NOT_CONNECTED,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: NOT_CONNECTED,
    ErrorCode.NOT_COORDINATOR: NOT_CONNECTED,
    ErrorCode.NETWORK_EXCEPTION: NOT_CONNECTED,
    ErrorCode.LEADER_NOT_AVAILABLE: NOT_CONNECTED,
    ErrorCode.REQUEST_TIMED_OUT: TIMEOUT,
}

_SENTENCES = {
    ErrorCode.NON_EMPTY_GROUP: "The {resource} still has members: stop them first, then try again.",
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: "A live member of the {resource} reads this topic: its offsets cannot be "
    "deleted until the member stops or unsubscribes.",
    ErrorCode.UNKNOWN_MEMBER_ID: "The {resource} has live members, so only they may commit: stop them first, or arm the "
    "reset.",
    ErrorCode.REBALANCE_IN_PROGRESS: "The {resource} is rebalancing: wait until it is stable or empty.",
    ErrorCode.GROUP_ID_NOT_FOUND: "The cluster has no such group: {resource}.",
}


def from_kafka(code: ErrorCode, resource: str, told: str = "") -> Problem:
    """An error code of a broker as a problem. `told` is the broker's own sentence, if it sent one.

    Codes that speak of the group's state become 409, unknown things 404, a cluster that is not ready 503 or 504; every
    other refusal is 502.
    """
    sentence = _SENTENCES.get(code, "The cluster refused for {resource}: " + (told or code.meaning) + ".")
    return Problem(
        kind=_KINDS_OF_CODES.get(code, REFUSED),
        resource=resource,
        message=sentence.replace("{resource}", resource),
        code=code.name,
        code_number=int(code),
    )


def error_row(code: ErrorCode, resource: str, told: str = "") -> dict[str, Any]:
    """The same as one row of an answer's `errors`: a part that failed where others did not."""
    return from_kafka(code, resource, told).as_dict()
