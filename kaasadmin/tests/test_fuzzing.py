"""Schemathesis over the whole documentation: whatever is sent, an answer is one that is documented, and never a 5xx that
nobody chose.

`make schemathesis` does the same for longer; EXAMPLES says how many requests each operation gets.
"""

from __future__ import annotations

import os

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, Phase
from hypothesis import settings as generation
from schemathesis.specs.openapi.checks import positive_data_acceptance

from groups.api import authentication
from groups.history import history_write
from groups.rates import Rate
from groups.testing.feed import member_view, rebalance_record

MORE_THAN_SHAPES = {
    *("alert_rule_change", "alert_rule_create", "audit_list", "groups_list", "job_plan", "lag_list"),
    *("offsets_delete", "plan_create", "records_list", "token_create", "webhook_create"),
}
"""Operations whose values have to make sense too. What fits its shape may be refused: an expression that does not compile,
an end in the past, a name of blanks."""

EXAMPLES = int(os.environ.get("KAAS_FUZZ_EXAMPLES", "20"))

documentation = schemathesis.openapi.from_dict(SchemaGenerator().get_schema(request=None, public=True))
documentation.app = get_wsgi_application()


@pytest.fixture
def one_connection():
    """The test's transaction outlives a request, as with Django's own test client."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def headers(api, world, one_connection, settings, monkeypatch):
    """An administrator's, in a cluster where the documented examples exist, and who may ask as often as it takes."""
    settings.KAAS_API_PER_MINUTE = 1_000_000
    monkeypatch.setattr(authentication, "REFUSED_TOKENS", Rate(name="refused-tokens", count=1_000_000, window_s=60))
    world.topic("orders", 1_200, 1_180)
    world.group("billing", {("orders", 1): 1_150}, members=[member_view("billing-worker-2-0b9e77aa", {"orders": [1]})])
    world.group("idle", {("orders", 0): 4})
    world.feed.event("billing", "rebalance_completed", rebalance=rebalance_record())
    history_write("local")
    world.read()
    return {"Authorization": f"Bearer {api.token}", "Accept-Encoding": "identity"}


@documentation.parametrize()
@generation(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
def test_whatever_is_sent_the_answer_is_documented(case, headers):
    if any(name in f"{case.query} {case.headers}" for name in ("csv", "jsonl", "ndjson")):
        return  # a stream for the event loop, which this caller has not
    makes_sense = case.operation.definition.raw["operationId"] not in MORE_THAN_SHAPES
    case.call_and_validate(headers=headers, excluded_checks=[] if makes_sense else [positive_data_acceptance])
