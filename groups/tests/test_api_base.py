"""groups.api.base, negotiation and parsers: what comes in is taken as it is meant, or refused with the field named."""

from __future__ import annotations

import pytest

from groups.api.parsers import BODY_LIMIT
from groups.idempotency import KEY_LENGTH
from groups.models import Token
from groups.testing.fixtures import CLUSTER

TOKENS = "/api/v1/tokens/"
GROUPS = f"{CLUSTER}/groups/"
NEW = {"name": "script", "role": "read"}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("colour=blue", "colour"),
        ("page=1&page=2", "page"),
        ("page=", "page"),
        ("page=1e3", "page"),
        ("page=99999999999999999999999999", "page"),
        ("page_size=1001", "page_size"),
        ("search=%00", "search"),
        ("state=Happy", "state"),
        ("min_lag=-1", "min_lag"),
        ("min_lag=9223372036854775808", "min_lag"),
        ("regex=%28", "regex"),
        ("regex=" + "x" * 1001, "regex"),
        ("ordering=password", "ordering"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_named(api, world, query, field):
    world.read()
    problem = api("GET", f"{GROUPS}?{query}", expect=400)
    assert (problem["kind"], list(problem["details"])) == ("invalid", [field])


def test_a_list_parameter_may_be_given_more_than_once(api, world):
    world.read()
    assert api("GET", f"{GROUPS}?state=Stable&state=Empty&format=json")["total"] == 0


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**NEW, "colour": "blue"}, "colour"),
        ({**NEW, "name": ["x"]}, "name"),
        ({**NEW, "name": {"x": 1}}, "name"),
        ({**NEW, "name": "x" * 10_000}, "name"),
        ({**NEW, "name": "\x00"}, "name"),
        ({**NEW, "role": None}, "role"),
        ({**NEW, "role": 2**70}, "role"),
        ({**NEW, "expires_at": 5}, "expires_at"),
        ({**NEW, "expires_at": "9999-99-99T00:00:00Z"}, "expires_at"),
        ([], "request"),
        ([NEW], "request"),
        (5, "request"),
        ("name", "request"),
        (None, "request"),
    ],
)
def test_a_body_that_makes_no_sense_is_named(api, body, field):
    problem = api("POST", TOKENS, b"null" if body is None else body, expect=400)
    assert field in problem["details"] and problem["message"]


@pytest.mark.parametrize(
    "body", [b"{", b"\xff\xfe", b'{"name": NaN}', b"[" * 100_000, b'{"name": "\\ud800"}', b"{} {}"]
)
def test_what_is_no_json_is_refused(api, body):
    assert api("POST", TOKENS, body, expect=400)["kind"] == "invalid"


def test_what_is_too_large_is_refused(api):
    body = b'{"name": "' + b"x" * BODY_LIMIT + b'"}'
    assert api("POST", TOKENS, body, expect=413)["kind"] == "too_large"


def test_a_nested_field_is_named_where_it_stands(api, world):
    world.group("idle", {("orders", 0): 1})
    scope = {"topics": [{"topic": "orders", "partitions": [-1], "colour": "blue"}]}
    problem = api("POST", f"{GROUPS}idle/reset-plans/", {"strategy": "earliest", "scope": scope}, expect=400)
    assert "colour" in problem["details"]["scope"]["topics"]["0"]


@pytest.mark.parametrize("key", ["", "x" * (KEY_LENGTH + 1), "a b", "é"])
def test_an_idempotency_key_is_one_word(api, key):
    problem = api("POST", TOKENS, NEW, expect=400, **{"Idempotency-Key": key})
    assert list(problem["details"]) == ["Idempotency-Key"]


def test_the_same_key_makes_one_token_and_gives_it_again(api):
    one, two = (api("POST", TOKENS, NEW, expect=201, **{"Idempotency-Key": "k"}) for _ in range(2))
    assert one == two and one["token"].startswith("kaas_") and Token.objects.filter(name="script").count() == 1
    gone = [api("DELETE", f"{TOKENS}{one['id']}/", expect=204, **{"Idempotency-Key": "d"}) for _ in range(2)]
    assert gone == [None, None]


def test_the_key_of_one_request_is_refused_for_another(api):
    api("POST", TOKENS, NEW, expect=201, **{"Idempotency-Key": "k"})
    problem = api("POST", TOKENS, {**NEW, "role": "operate"}, expect=409, **{"Idempotency-Key": "k"})
    assert problem["code"] == "IDEMPOTENCY_KEY_REUSED"


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "PATCH", "TRACE"])
def test_other_methods_are_not_allowed(api, method):
    answer = api.raw(method, TOKENS)
    assert answer.status_code == 405 and "POST" in answer["Allow"] and answer.json()["kind"] == "method_not_allowed"


def test_there_are_no_pages_to_browse_and_no_way_in_for_other_sites(api):
    page = api.raw("GET", TOKENS, Accept="text/html,application/xhtml+xml,*/*;q=0.8", Origin="https://evil.example")
    assert page["Content-Type"] == "application/json"
    assert not [name for name in page.headers if name.lower().startswith("access-control-")]
    assert api.raw("GET", TOKENS, Accept="text/html").status_code == 406
