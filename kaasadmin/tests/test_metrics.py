"""kaasadmin.metrics."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from groups.feeds import feed_of
from groups.testing.feed import member_view

pytestmark = pytest.mark.django_db


@pytest.fixture
def filled(world):
    world.topic("orders", 10, 10)
    world.group("shop", {("orders", 0): 4, ("orders", 1): 6}, members=[member_view("one-1", {"orders": [0, 1]})])
    world.group('odd "id"\n\\', {("orders", 0): 10})
    world.group("bare")
    world.read()
    tallies = feed_of("local").tallies
    tallies.rebalances["member_joined"], tallies.commits, tallies.delay_s = 3, 9, 0.02
    tallies.took[2], tallies.took[-1], tallies.took_s = 2, 1, 400.5
    return world


def samples(caller):
    response = caller.raw("GET", "/metrics")
    assert response.status_code == 200 and response["Content-Type"].startswith("text/plain")
    families = text_string_to_metric_families(response.content.decode())
    return {(s.name, *(v for _, v in sorted(s.labels.items()))): s.value for family in families for s in family.samples}


def test_it_works(api, filled):
    told = samples(api)
    assert told["kaas_group_state", "local", "shop", "Stable"] == 1
    assert told["kaas_group_members", "local", "shop"] == 1
    assert told["kaas_group_lag", "local", "shop"] == 10
    assert told["kaas_group_topic_lag", "local", "shop", "orders"] == 10
    assert told["kaas_groups", "local", "Empty"] == 2 and told["kaas_groups", "local", "Stable"] == 1
    assert told["kaas_rebalances_total", "member_joined", "local"] == 3
    assert told["kaas_rebalance_seconds_bucket", "local", "0.1"] == 0
    assert told["kaas_rebalance_seconds_bucket", "local", "0.25"] == 2
    assert told["kaas_rebalance_seconds_bucket", "local", "+Inf"] == told["kaas_rebalance_seconds_count", "local"] == 3
    assert told["kaas_rebalance_seconds_sum", "local"] == 400.5
    assert told["kaas_commits_total", "local"] == 9 and told["kaas_feed_delay_seconds", "local"] == 0.02
    assert told["kaas_feed_connected", "local"] == 1 and told["kaas_feed_age_seconds", "local"] >= 0
    assert told["kaas_sockets", "local"] == 0


def test_ids_of_any_characters_are_labels(api, filled):
    assert samples(api)["kaas_group_lag", "local", 'odd "id"\n\\'] == 0


def test_what_is_not_known_is_no_number(api, filled):
    assert ("kaas_group_lag", "local", "bare") not in samples(api)


def test_it_shows_visible_groups_only(make_caller, filled):
    told = samples(make_caller("read", group_pattern="shop"))
    assert {key[2] for key in told if key[0] == "kaas_group_members"} == {"shop"}
    assert told["kaas_groups", "local", "Stable"] == 1 and ("kaas_groups", "local", "Empty") not in told
    nobody = make_caller("read", cluster="prod", name="other")
    assert not [key for key in samples(nobody) if "local" in key]


def test_strangers_are_refused_and_sessions_are_not(filled):
    client = Client()
    response = client.get("/metrics")
    assert response.status_code == 401 and response["WWW-Authenticate"] == "Bearer"
    assert client.get("/metrics", headers={"Authorization": "Bearer kaas_x"}).status_code == 401
    client.force_login(get_user_model().objects.create_superuser("root"))
    assert client.get("/metrics").status_code == 200
