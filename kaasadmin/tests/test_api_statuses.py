"""Every status that the documentation promises is one that really comes, and with the body that it says."""

from __future__ import annotations

import json
import re
import uuid

import pytest
from drf_spectacular.generators import SchemaGenerator

from groups.api.parsers import BODY_LIMIT
from groups.feeds import forget_feeds
from groups.history import history_write
from groups.problems import from_kafka, not_connected, timed_out
from groups.testing.feed import member_view, rebalance_record
from groups.testing.fixtures import CLUSTER
from kaas.errors import ErrorCode

SHOP, IDLE = f"{CLUSTER}/groups/shop/", f"{CLUSTER}/groups/idle/"
PLAN = {"strategy": "earliest", "value": None, "scope": {"all": True}}
OFFSETS = {"topics": [{"topic": "orders"}]}
RULE = {"name": "lag", "kind": "lag", "threshold": 5}
HOOK = {"name": "pager", "url": "https://example.org/alerts", "secret": "0123456789abcdef"}
ALERTS, JOBS = "/api/v1/alerts/", "/api/v1/jobs/"
JOB = {"kind": "groups_delete", "filter": {"state": ["Empty"]}}
TOKEN = {"name": "script", "role": "read"}

CALLS = {
    "clusters_list": ("GET", "/api/v1/clusters/"),
    "groups_list": ("GET", f"{CLUSTER}/groups/"),
    "group_describe": ("GET", SHOP),
    "group_delete": ("DELETE", IDLE),
    "members_list": ("GET", f"{SHOP}members/"),
    "member_remove": ("DELETE", f"{SHOP}members/one-1/", {"reason": "stuck"}),
    "lag_list": ("GET", f"{SHOP}lag/"),
    "rebalances_list": ("GET", f"{SHOP}rebalances/"),
    "rebalance_get": ("GET", f"{SHOP}rebalances/1/"),
    "offsets_list": ("GET", f"{IDLE}offsets/"),
    "offsets_delete": ("DELETE", f"{IDLE}offsets/", OFFSETS),
    "records_list": ("GET", f"{IDLE}records/?topic=orders&partition=0"),
    "undo_list": ("GET", f"{IDLE}undo/"),
    "undo": ("POST", f"{IDLE}undo/"),
    "plan_create": ("POST", f"{IDLE}reset-plans/", PLAN),
    "plan_get": ("GET", f"{IDLE}reset-plans/{{plan}}/"),
    "plan_drop": ("DELETE", f"{IDLE}reset-plans/{{plan}}/"),
    "plan_apply": ("POST", f"{IDLE}reset-plans/{{plan}}/apply/"),
    "plan_apply_as_job": ("POST", f"{IDLE}reset-plans/{{plan}}/job/"),
    "plan_arm": ("POST", f"{SHOP}reset-plans/{{live_plan}}/arm/"),
    "topics_list": ("GET", f"{CLUSTER}/topics/"),
    "topic_groups_list": ("GET", f"{CLUSTER}/topics/orders/groups/"),
    "brokers_list": ("GET", f"{CLUSTER}/brokers/"),
    "job_plan": ("POST", f"{CLUSTER}/jobs/", JOB),
    "jobs_list": ("GET", JOBS),
    "job_get": ("GET", f"{JOBS}{{job}}/"),
    "job_cancel": ("DELETE", f"{JOBS}{{job}}/"),
    "job_start": ("POST", f"{JOBS}{{job}}/start/"),
    "job_items_list": ("GET", f"{JOBS}{{job}}/items/"),
    "alerts_list": ("GET", ALERTS),
    "alert_rules_list": ("GET", f"{ALERTS}rules/"),
    "alert_rule_create": ("POST", f"{ALERTS}rules/", RULE),
    "alert_rule_change": ("PATCH", f"{ALERTS}rules/{{rule}}/", {"threshold": 6}),
    "alert_rule_delete": ("DELETE", f"{ALERTS}rules/{{rule}}/"),
    "webhooks_list": ("GET", f"{ALERTS}webhooks/"),
    "webhook_create": ("POST", f"{ALERTS}webhooks/", HOOK),
    "webhook_delete": ("DELETE", f"{ALERTS}webhooks/{{webhook}}/"),
    "webhook_test": ("POST", f"{ALERTS}webhooks/{{webhook}}/test/", {}),
    "deliveries_list": ("GET", f"{ALERTS}deliveries/"),
    "audit_list": ("GET", "/api/v1/audit/"),
    "tokens_list": ("GET", "/api/v1/tokens/"),
    "token_create": ("POST", "/api/v1/tokens/", TOKEN),
    "token_delete": ("DELETE", "/api/v1/tokens/{token}/"),
}
"""Operation to a request that is done: method, address, body."""


def documented():
    for path in SchemaGenerator().get_schema(request=None, public=True)["paths"].values():
        for operation in path.values():
            for status, answer in operation["responses"].items():
                yield operation["operationId"], int(status), sorted(answer.get("content", ()))


DOCUMENTED = list(documented())


def test_every_operation_is_tried():
    assert {operation for operation, *_ in DOCUMENTED} == set(CALLS)


class Asked:
    """An operation that somebody calls in a world where it would be done; each way to make it fail is a method."""

    def __init__(self, api, world, settings, make_caller, operation):
        self.api, self.world, self.settings, self.make_caller = api, world, settings, make_caller
        self.method, address, *body = CALLS[operation]
        self.body = body[0] if body else None
        token = api("POST", "/api/v1/tokens/", TOKEN, expect=201)["id"] if operation == "token_delete" else 0
        plan, live_plan = (api("POST", f"{one}reset-plans/", PLAN, expect=201)["id"] for one in (IDLE, SHOP))
        if operation == "undo":
            api("DELETE", f"{IDLE}offsets/", OFFSETS)
        rule = api("POST", f"{ALERTS}rules/", {**RULE, "name": "other"}, expect=201)["id"]
        webhook = api("POST", f"{ALERTS}webhooks/", {**HOOK, "name": "other"}, expect=201)["id"]
        job = api("POST", f"{CLUSTER}/jobs/", JOB, expect=201)["id"]
        made = {"plan": plan, "live_plan": live_plan, "token": token, "rule": rule, "webhook": webhook, "job": job}
        self.address = address.format(**made)

    def call(self, query="", caller=None, **headers):
        mark = "&" if "?" in self.address else "?"
        address = f"{self.address}{mark}{query}" if query else self.address
        return (caller or self.api).raw(self.method, address, self.body, **headers)

    def failing(self, problem):
        self.world.gateway.failing = problem
        return self.call()

    def _200(self):
        return self.call("" if self.method == "GET" or self.call("dry_run=true").status_code != 200 else "dry_run=true")

    def _201(self):
        return self.call()

    _202 = _201

    def _204(self):
        return self.call("dry_run=true" if self.address.endswith("/test/") else "")

    def _400(self):
        return self.call("nonsense=1")

    def _401(self):
        self.api.token = "kaas_nonsense"
        return self.call()

    def _403(self):
        return self.call(caller=self.make_caller("read"))

    def _404(self):
        self.address = self.address.replace("/clusters/local/", "/clusters/nowhere/")
        self.address = re.sub(r"/(tokens|rules|webhooks)/\d+/", r"/\1/999999/", self.address)
        self.address = re.sub(r"/jobs/[^/]+/", f"/jobs/{uuid.uuid4()}/", self.address)
        if self.body == RULE:
            self.body = {**RULE, "webhook": 999_999}
        return self.call()

    def _406(self):
        return self.call("format=xml")

    def _409(self):
        key = {"Idempotency-Key": uuid.uuid4().hex}
        assert self.call("dry_run=true", **key).status_code < 300
        return self.call(**key)

    def _413(self):
        self.body = b'"' + b"x" * BODY_LIMIT + b'"'
        return self.call(**{"Idempotency-Key": "k"})

    def _415(self):
        self.body = b"x"
        return self.call(**{"Idempotency-Key": "k", "Content-Type": "text/plain"})

    def _429(self):
        self.settings.KAAS_API_PER_MINUTE = 1
        self.call()
        return self.call()

    def _502(self):
        return self.failing(from_kafka(ErrorCode.GROUP_AUTHORIZATION_FAILED, "group idle"))

    def _503(self):
        self.settings.KAAS_REDIS_URL = "unix:///nowhere/valkey.sock"
        forget_feeds()
        self.address = self.address.replace("shop/rebalances/", "idle/rebalances/")  # the history needs no feed
        return self.failing(not_connected("cluster local", "away"))

    def _504(self):
        return self.failing(timed_out("cluster local", 10_000))


@pytest.fixture
def full(world):
    world.topic("orders", 10, 10)
    world.group("shop", {("orders", 0): 4}, members=[member_view("one-1", {"orders": [0, 1]})])
    world.group("idle", {("orders", 0): 4})
    world.feed.event("shop", "rebalance_completed", rebalance=rebalance_record())
    world.read()
    return world


@pytest.mark.parametrize(
    ("operation", "status", "content"), DOCUMENTED, ids=[f"{operation}-{status}" for operation, status, _ in DOCUMENTED]
)
def test_a_documented_status_comes(api, full, settings, make_caller, operation, status, content):
    history_write("local")
    answer = getattr(Asked(api, full, settings, make_caller, operation), f"_{status}")()
    assert answer.status_code == status, answer.content[:500]
    if status == 204:
        assert answer.content == b""
        return
    assert answer["Content-Type"].partition(";")[0] in content
    if status >= 400:
        problem = json.loads(answer.content)
        assert {"resource", "kind", "code", "code_number", "message", "retriable"} <= problem.keys()
    if status == 429:
        assert int(answer["Retry-After"]) > 0 and problem["retriable"] is True
