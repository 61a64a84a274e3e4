"""The OpenAPI documentation, and that answers are as it says."""

from __future__ import annotations

import re

import jsonschema
import pytest
from django.core.management import call_command
from drf_spectacular.generators import SchemaGenerator

from groups.history import history_write
from groups.testing.feed import last_rebalance, member_view, rebalance_record
from groups.testing.fixtures import CLUSTER

WRITES = ("post", "put", "patch", "delete")

GROUP = "/api/v1/clusters/{cluster}/groups/{group}/"

ADDRESSES = {
    "/api/v1/clusters/": {"get"},
    "/api/v1/clusters/{cluster}/groups/": {"get"},
    GROUP: {"get", "delete"},
    GROUP + "members/": {"get"},
    GROUP + "members/{member}/": {"delete"},
    GROUP + "offsets/": {"get", "delete"},
    GROUP + "rebalances/": {"get"},
    GROUP + "rebalances/{number}/": {"get"},
    GROUP + "records/": {"get"},
    GROUP + "reset-plans/": {"post"},
    GROUP + "reset-plans/{plan}/": {"get", "delete"},
    GROUP + "reset-plans/{plan}/apply/": {"post"},
    GROUP + "reset-plans/{plan}/arm/": {"post"},
    GROUP + "reset-plans/{plan}/job/": {"post"},
    GROUP + "undo/": {"get", "post"},
    "/api/v1/clusters/{cluster}/topics/": {"get"},
    "/api/v1/clusters/{cluster}/topics/{topic}/groups/": {"get"},
    "/api/v1/clusters/{cluster}/brokers/": {"get"},
    "/api/v1/audit/": {"get"},
    "/api/v1/tokens/": {"get", "post"},
    "/api/v1/tokens/{token}/": {"delete"},
}


@pytest.fixture(scope="module")
def schema():
    return SchemaGenerator().get_schema(request=None, public=True)


def test_it_knows_every_address(schema):
    known = {path: set(operations) - {"parameters"} for path, operations in schema["paths"].items()}
    assert schema["openapi"].startswith("3.")
    assert {path: known[path] for path in ADDRESSES} == ADDRESSES


def test_it_is_valid_and_without_warnings(tmp_path):
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "schema.yml"))


def test_every_operation_says_how_it_fails_and_has_a_name_of_its_own(schema):
    operations = [op for path in schema["paths"].values() for op in path.values()]
    names = [op["operationId"] for op in operations]
    assert len(names) == len(set(names))
    for op in operations:
        assert "401" in op["responses"] and op["description"], op["operationId"]


def test_every_write_takes_a_key_and_a_dry_run_and_can_be_refused_for_either(schema):
    """That each does what it says here is tried in test_api_statuses."""
    writes = [op for path in schema["paths"].values() for method, op in path.items() if method in WRITES]
    assert len(writes) >= 20
    for op in writes:
        assert {"Idempotency-Key", "dry_run"} <= {given["name"] for given in op["parameters"]}, op["operationId"]
        assert "409" in op["responses"], op["operationId"]


def test_it_is_served_with_browsable_docs(api, admin_user, client):
    answer = api.raw("GET", "/api/schema/?format=json", Accept="application/vnd.oai.openapi+json, application/json")
    assert answer.status_code == 200 and answer.json()["openapi"].startswith("3.")
    client.force_login(admin_user)
    page = client.get("/api/docs/")
    assert page.status_code == 200 and "<script>" not in page.content.decode()
    assert client.get("/api/docs/?script=").status_code == 200
    assert (
        client.get(re.search(rb'src="(/static/[^"]+swagger-ui-bundle[^"]*)"', page.content)[1].decode()).status_code
        == 200
    )


@pytest.fixture
def filled(world):
    world.topic("orders", 10, 10)
    member = member_view("one-1", {"orders": [0, 1]})
    world.group("shop", {("orders", 0): 4}, members=[member], last_rebalance=last_rebalance())
    world.group("idle", {("orders", 0): 4})
    world.feed.event("shop", "rebalance_completed", rebalance=rebalance_record())
    history_write("local")
    world.read()
    return world


def as_documented(schema, path, method, status, answer):
    """Checks an answer against the schema of its operation; nothing may stand in it that is not documented."""
    documented = schema["paths"][path][method]["responses"][str(status)]["content"]["application/json"]["schema"]
    strict = _strict({"components": schema["components"], **documented})
    jsonschema.validate(answer, strict, cls=jsonschema.Draft7Validator)


def _strict(node):
    """OpenAPI 3.0's `nullable` in JSON Schema's words, and no undocumented properties save twins of large numbers."""
    if isinstance(node, list):
        return [_strict(one) for one in node]
    if not isinstance(node, dict):
        return node
    node = {key: _strict(value) for key, value in node.items()}
    if node.get("type") == "object" and "properties" in node:
        node |= {"additionalProperties": False, "patternProperties": {"_str$": {"type": "string"}}}
    if node.pop("nullable", False):
        return {"anyOf": [node, {"type": "null"}]}
    return node


@pytest.mark.parametrize(
    ("path", "documented"),
    [
        ("/api/v1/clusters/", "/api/v1/clusters/"),
        (f"{CLUSTER}/groups/", "/api/v1/clusters/{cluster}/groups/"),
        (f"{CLUSTER}/groups/shop/", GROUP),
        (f"{CLUSTER}/groups/idle/", GROUP),
        (f"{CLUSTER}/groups/shop/members/", GROUP + "members/"),
        (f"{CLUSTER}/groups/shop/offsets/", GROUP + "offsets/"),
        (f"{CLUSTER}/groups/shop/rebalances/", GROUP + "rebalances/"),
        (f"{CLUSTER}/groups/shop/rebalances/1/", GROUP + "rebalances/{number}/"),
        (f"{CLUSTER}/groups/shop/records/?topic=orders&partition=0", GROUP + "records/"),
        (f"{CLUSTER}/topics/", "/api/v1/clusters/{cluster}/topics/"),
        (f"{CLUSTER}/topics/orders/groups/", "/api/v1/clusters/{cluster}/topics/{topic}/groups/"),
        (f"{CLUSTER}/brokers/", "/api/v1/clusters/{cluster}/brokers/"),
        ("/api/v1/audit/", "/api/v1/audit/"),
        ("/api/v1/tokens/", "/api/v1/tokens/"),
    ],
)
def test_reads_answer_what_is_documented(api, filled, schema, path, documented):
    as_documented(schema, documented, "get", 200, api("GET", path))


def test_writes_and_failures_answer_what_is_documented(api, filled, schema):
    plans = f"{CLUSTER}/groups/idle/reset-plans/"
    plan = api("POST", plans, {"strategy": "earliest", "scope": {"all": True}}, expect=201)
    as_documented(schema, GROUP + "reset-plans/", "post", 201, plan)
    one = GROUP + "reset-plans/{plan}/"
    as_documented(schema, one, "get", 200, api("GET", f"{plans}{plan['id']}/"))
    as_documented(schema, one + "apply/", "post", 200, api("POST", f"{plans}{plan['id']}/apply/"))
    as_documented(schema, one + "apply/", "post", 409, api("POST", f"{plans}{plan['id']}/apply/", expect=409))
    as_documented(schema, GROUP + "undo/", "post", 200, api("POST", f"{CLUSTER}/groups/idle/undo/"))
    live = f"{CLUSTER}/groups/shop/reset-plans/"
    waiting = api("POST", live, {"strategy": "earliest", "scope": {"all": True}}, expect=201)
    as_documented(schema, one + "arm/", "post", 200, api("POST", f"{live}{waiting['id']}/arm/"))
    as_documented(schema, GROUP, "get", 200, api("GET", f"{CLUSTER}/groups/shop/"))
    deletion = {"topics": [{"topic": "orders"}]}
    offsets = api("DELETE", f"{CLUSTER}/groups/idle/offsets/", deletion)
    as_documented(schema, GROUP + "offsets/", "delete", 200, offsets)
    as_documented(schema, GROUP, "delete", 409, api("DELETE", f"{CLUSTER}/groups/shop/", expect=409))
    as_documented(schema, GROUP, "delete", 200, api("DELETE", f"{CLUSTER}/groups/idle/"))
    member = api("DELETE", f"{CLUSTER}/groups/shop/members/one-1/")
    as_documented(schema, GROUP + "members/{member}/", "delete", 200, member)
    token = api("POST", "/api/v1/tokens/", {"name": "x", "role": "read"}, expect=201)
    as_documented(schema, "/api/v1/tokens/", "post", 201, token)
    as_documented(schema, "/api/v1/tokens/", "post", 400, api("POST", "/api/v1/tokens/", {}, expect=400))
