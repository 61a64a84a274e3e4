"""groups.problems and groups.api.problems."""

from __future__ import annotations

import pytest
from rest_framework import exceptions

from groups.api.problems import problem_response
from groups.problems import error_row, from_kafka, invalid, not_found, wrong_state
from kaas.errors import ErrorCode


@pytest.mark.parametrize(
    ("code", "status", "retriable"),
    [
        (ErrorCode.NON_EMPTY_GROUP, 409, False),
        (ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, 409, False),
        (ErrorCode.UNKNOWN_MEMBER_ID, 409, False),
        (ErrorCode.REBALANCE_IN_PROGRESS, 409, False),
        (ErrorCode.UNSTABLE_OFFSET_COMMIT, 409, True),
        (ErrorCode.GROUP_ID_NOT_FOUND, 404, False),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 404, False),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, 503, True),
        (ErrorCode.NOT_COORDINATOR, 503, True),
        (ErrorCode.REQUEST_TIMED_OUT, 504, True),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, 502, False),
        (ErrorCode.KAFKA_STORAGE_ERROR, 502, False),
    ],
)
def test_kafkas_codes_have_one_status_each(code, status, retriable):
    problem = from_kafka(code, "group shop")
    row = problem.as_dict()
    assert problem.kind.status == status
    assert (row["code"], row["code_number"], row["retriable"]) == (code.name, int(code), retriable)
    assert len(row["message"].split()) > 4 and row["message"].endswith(".") and "shop" in row["message"]


def test_a_brokers_own_sentence_is_passed_on():
    assert "no quota {left}" in from_kafka(ErrorCode.POLICY_VIOLATION, "group {x}", "no quota {left}").message


def test_details_stand_where_a_field_is_to_blame():
    assert invalid("Bad.", page=["too large"]).as_dict()["details"] == {"page": ["too large"]}
    assert "details" not in not_found("group x").as_dict()


def test_a_wrong_state_may_carry_kafkas_code():
    assert wrong_state("group x", "No.", ErrorCode.NON_EMPTY_GROUP).as_dict()["code_number"] == 68
    assert wrong_state("group x", "No.").as_dict()["code"] == "WRONG_STATE"
    assert error_row(ErrorCode.NON_EMPTY_GROUP, "group x")["kind"] == "wrong_state"


@pytest.mark.parametrize(
    ("raised", "status", "kind"),
    [
        (exceptions.ValidationError({"page": ["bad"]}), 400, "invalid"),
        (exceptions.ValidationError(["bad"]), 400, "invalid"),
        (exceptions.ParseError("no JSON"), 400, "invalid"),
        (exceptions.NotAuthenticated(), 401, "unauthenticated"),
        (exceptions.PermissionDenied(), 403, "denied"),
        (exceptions.MethodNotAllowed("PUT"), 405, "method_not_allowed"),
        (exceptions.UnsupportedMediaType("text/plain"), 415, "unsupported_media_type"),
        (ZeroDivisionError("x"), 500, "failed"),
    ],
)
def test_every_exception_becomes_the_error_object(raised, status, kind):
    response = problem_response(raised, {})
    assert response.status_code == status and response.data["kind"] == kind and response.data["message"]
    assert "division" not in response.data["message"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PUT", "/api/v1/clusters/", 405),
        ("GET", "/api/v1/nothing/here/", 404),
        ("GET", "/api/nothing", 404),
        ("GET", "/api/v1/tokens/x/", 404),
    ],
)
def test_addresses_and_methods_that_are_none_answer_alike(api, method, path, status):
    assert {"resource", "kind", "code", "code_number", "message", "retriable"} <= api(
        method, path, expect=status
    ).keys()


def test_a_body_of_another_kind_or_size_is_refused(api):
    response = api._client.post(
        "/api/v1/tokens/", "a=b", "text/plain", headers={"Authorization": f"Bearer {api.token}"}
    )
    assert response.status_code == 415
    assert api("POST", "/api/v1/tokens/", b'{"name": "' + b"x" * (5 * 2**20), expect=413)["kind"] == "too_large"


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a": NaN}', b"\xff", b'"text"', b"null", b"[1]"])
def test_a_body_that_is_no_object_is_refused(api, body):
    api("POST", "/api/v1/tokens/", body, expect=400)
