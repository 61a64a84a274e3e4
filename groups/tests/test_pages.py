"""The pages of groups, without a browser: complete without scripts, safe for any id, honest about what is missing."""

from __future__ import annotations

import html
import re

import msgspec
import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from groups.choices import Role
from groups.history import history_write
from groups.keys import key_of
from groups.models import AuditRow, RoleBinding, Token
from groups.problems import FAILED, Problem
from groups.testing.feed import last_rebalance, member_view, offset_view, rebalance_record, snapshot
from groups.times import now_ms
from kaas.feed.types import RebalanceView

GROUPS = "/clusters/local/groups/"

ODD = [
    *("a/b", "..", "%2F", "%", " lead and trail ", "é 😀", "<script>alert(1)</script>", "=1+1", "a\nb", "~tilde"),
    *("x" * 300, '"quoted", comma', "", "delete", "\u202egnp"),
    *(
        "a_#b",
        "dc-1/pending",
        "data/x:y",
        "a&b",
        "com.example.app.v1",
        "Foo`1[[A, B]]",
        "lag",
        "csv",
        "paged",
        "topics",
    ),
]


@pytest.fixture
def listed(world):
    """Three groups: one Stable, one Empty with lag, one simple."""
    world.topic("orders", 10, 10)
    world.topic("bills", 5)
    world.group(
        "shop-b",
        {("orders", 0): 10, ("orders", 1): 4},
        members=[member_view("one-1", {"orders": [0, 1]})],
        last_rebalance=last_rebalance(),
    )
    world.group("Shop-A", {("orders", 0): 3})
    world.group("other", {("bills", 0): 5}, coordinator=2)
    world.read()
    return world


@pytest.fixture
def visit(admin_user):
    """Gets a page as an administrator; its text without entities and runs of spaces."""
    client = Client()
    client.force_login(admin_user)

    def get(path: str, status: int = 200, **query: object) -> str:
        response = client.get(path, query)
        assert response.status_code == status, (response.status_code, response.content[:400])
        return text_of(response)

    get.client = client
    return get


def text_of(response) -> str:
    return re.sub(r"\s+", " ", html.unescape(response.content.decode()))


def words(page: str) -> str:
    """What a reader sees."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def somebody(name: str, role: str, group_pattern: str = "*") -> Client:
    user = get_user_model().objects.create_user(name)
    RoleBinding.objects.create(user=user, role=role, group_pattern=group_pattern)
    client = Client()
    client.force_login(user)
    return client


# The way in


def test_a_stranger_is_led_to_the_sign_in_and_back(db):
    response = Client().get(GROUPS, {"search": "a b"})
    assert response.status_code == 302
    assert response["Location"] == f"/login/?next={GROUPS}%3Fsearch%3Da%2Bb"


def test_a_wrong_password_is_told_and_keeps_the_name(db):
    response = Client().post("/login/", {"username": "ann", "password": "no"})
    assert response.status_code == 400
    assert "The name or the password is wrong" in text_of(response) and 'value="ann"' in text_of(response)


def test_the_only_cluster_opens_by_itself(visit, feed):
    assert visit.client.get("/")["Location"] == GROUPS


def test_somebody_without_rights_is_told_what_to_do(db, feed):
    client = Client()
    client.force_login(get_user_model().objects.create_user("new"))
    assert "No cluster is granted to you" in text_of(client.get("/"))
    assert client.get(GROUPS).status_code == 404


# The list


def test_the_list_works(visit, listed):
    page = words(visit(GROUPS))
    assert "Shop-A Empty simple – 0 orders 7 Stopped – 1" in page
    assert re.search(r"shop-b Stable classic range 1 orders 6 Lagging (now|\d s ago) two joined\. 1", page)
    assert "All 3 Stable 1 Rebalancing 0 Empty 2 Dead 0" in page and "1–3 of 3" in page


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"search": "shop"}, {"Shop-A", "shop-b"}),
        ({"regex": "^shop"}, {"shop-b"}),
        ({"state": "Stable"}, {"shop-b"}),
        ({"topic": "bills"}, {"other"}),
        ({"min_lag": 7}, {"Shop-A"}),
        ({"coordinator": 2}, {"other"}),
        ({"type": "classic"}, {"shop-b"}),
    ],
)
def test_every_filter_narrows_the_list(visit, listed, query, found):
    assert set(re.findall(r'<tr data-key="([^"]*)"', visit(GROUPS, **query))) == found


def test_links_keep_the_rest_of_the_view(visit, listed):
    page = visit(GROUPS, search="shop", ordering="-total_lag", page_size=1)
    assert f'href="{GROUPS}?search=shop&ordering=total_lag&page_size=1"' in page
    assert f'href="{GROUPS}?search=shop&ordering=-total_lag&page_size=1&page=2"' in page
    assert f'href="{GROUPS}?search=shop&ordering=-total_lag&page_size=1&state=Empty"' in page
    assert 'aria-sort="descending" data-column="total_lag"' in page


def test_a_form_without_scripts_ends_at_the_short_address(visit, listed):
    blank = {"search": "^s", "mode": "regex", "type": "", "topic": "", "min_lag": "", "coordinator": ""}
    response = visit.client.get(GROUPS, blank)
    assert (response.status_code, response["Location"]) == (302, f"{GROUPS}?regex=%5Es")
    assert visit.client.get(GROUPS, {"search": ""})["Location"] == GROUPS


@pytest.mark.parametrize("query", [{"regex": "("}, {"min_lag": "many"}, {"page": "x"}, {"ordering": "password"}])
def test_a_question_that_makes_no_sense_is_told_on_the_page(visit, listed, query):
    assert "This question makes no sense" in visit(GROUPS, 400, **query)


def test_nothing_found_offers_the_way_back_and_nothing_there_the_way_on(visit, listed):
    assert "No group matches" in visit(GROUPS, search="nobody")
    assert "There is no page 9" in words(visit(GROUPS, page=9))


def test_an_empty_cluster_says_how_to_point_a_client_at_it(visit, world):
    """A cluster on which nobody had committed yet was an error.

    https://issues.apache.org/jira/browse/KAFKA-2857
    """
    world.read()
    page = words(visit(GROUPS))
    assert "No consumer group yet" in page and "bootstrap.servers=127.0.0.1:9092" in page


def test_a_feed_that_was_never_read_is_a_page_of_its_own(visit, feed):
    page = visit(GROUPS, 503)
    assert "Not connected" in page and "data-retries" in page


def test_a_silent_broker_is_said_on_every_page(visit, listed):
    listed.feed.broker(3, at=now_ms() - 60_000)
    listed.read()
    assert "Broker 3 has been silent for 60 s" in visit(GROUPS) and "Broker 3" in visit("/clusters/local/topics/")


@pytest.mark.parametrize("group_id", ODD)
def test_any_id_is_listed_linked_and_opened(visit, world, group_id):
    """Elsewhere such ids were cut, decoded twice, taken for a file or for a page's own name.

    https://github.com/redpanda-data/console/issues/555
    https://github.com/redpanda-data/console/issues/611
    https://github.com/tchiotludo/akhq/issues/1101
    https://github.com/tchiotludo/akhq/issues/1184
    https://github.com/streamshub/console/issues/633
    https://github.com/streamshub/console/issues/1891
    https://github.com/provectus/kafka-ui/issues/4456
    """
    world.group(group_id, {("orders", 0): 3})
    world.read()
    page = visit(GROUPS)
    address = f"{GROUPS}{key_of(group_id)}/"
    assert f'href="{address}"' in page
    for path in (GROUPS, address):
        response = visit.client.get(path)
        assert response.status_code == 200 and b"<script>alert" not in response.content


# A group


def test_a_group_works(visit, listed):
    page = words(visit(f"{GROUPS}shop-b/"))
    for part in ("Generation 1", "Protocol range", "Members 1", "Lag 6", "orders (1)", "The group waits for nobody."):
        assert part in page
    assert "one one-1" in page and "orders 0–1" in page
    assert "The group is Stable with 1 live member (one): stop them first, or arm the reset." in page


def test_actions_stay_visible_with_their_reason(visit, listed):
    live, empty = visit(f"{GROUPS}shop-b/"), visit(f"{GROUPS}Shop-A/")
    assert re.search(r'data-action="delete"[^>]*aria-disabled="true"', live)
    assert not re.search(r'data-action="delete"[^>]*href="/clusters', live.replace("data-href", "data-to"))
    assert re.search(r'data-action="delete"[^>]* href="/clusters/local/groups/Shop-A/delete/"', empty)


def test_lag_that_has_no_number_is_never_drawn_as_one(visit, world):
    """One deleted topic ended the page or the command, and an unknown lag was drawn as -1.

    https://github.com/yahoo/CMAK/issues/671
    https://issues.apache.org/jira/browse/KAFKA-17218
    https://github.com/redpanda-data/console/issues/161
    """
    world.topic("orders", 10, 10, 10, 0)
    world.group("g", {("orders", 0): 10, ("orders", 1): 15, ("orders", 3): 0})
    world.feed.group(
        snapshot(
            "h",
            offsets={("orders", 1): offset_view(2**60 + 1), ("gone", 0): 3},
            members=[member_view("m-1", {"orders": [2]})],
        )
    )
    world.read()
    first, second = words(visit(f"{GROUPS}g/")), words(visit(f"{GROUPS}h/"))
    assert "Committed past the log's end" in first and "Empty partition" in first and "Caught up" in first
    assert "Nothing committed" in second and "1,152,921,504,606,846,977" in second
    assert "its log is not known" in second and " -1 " not in first + second


def test_bytes_that_cannot_be_decoded_are_shown_raw(visit, world):
    """Other assignors, and workers of Connect, ended the page.

    https://github.com/redpanda-data/console/issues/21
    https://github.com/twmb/franz-go/issues/100
    https://github.com/didi/KnowStreaming/issues/459
    """
    odd = member_view("m-1", subscription=None, subscription_raw="AAE=", assignment=None, assignment_raw="AAI=")
    world.group("connect", members=[odd])
    world.read()
    page = visit(f"{GROUPS}connect/")
    assert "<code>AAE=</code>" in page and "<code>AAI=</code>" in page


def test_a_member_that_owns_nothing_is_shown_as_any_other(visit, world):
    """Such members were left out, or their missing list ended the page.

    https://github.com/redpanda-data/console/issues/2087
    https://issues.apache.org/jira/browse/KAFKA-3144
    """
    idle = member_view("idle-1", {}, subscription=["orders"])
    world.group("g", {("orders", 0): 3}, members=[member_view("busy-1", {"orders": [0]}), idle])
    world.read()
    page = words(visit(f"{GROUPS}g/"))
    assert "Members 2" in page and "busy busy-1" in page and "idle idle-1" in page


def test_a_running_rebalance_says_whom_it_waits_for(visit, world):
    now = now_ms()
    wait = {"member_id": "one-1", "client_id": "one", "timer": "rebalance", "deadline_at": now + 300_000}
    running = {
        "started_at": now - 2_000,
        "cause": "member_joined",
        "member_id": "two-1",
        "detail": {"client_id": "two"},
        "also": [],
        "phase": "joining",
        "phase_since": now - 2_000,
        "phases": [],
        "waiting_for": [wait],
        "waiting_count": 1,
        "generation_before": 1,
        "members_before": 1,
    }
    members = [member_view("one-1", {"orders": [0]}, state="missing"), member_view("two-1", state="joining")]
    world.group("g", members=members, state="PreparingRebalance", rebalance=msgspec.convert(running, RebalanceView))
    world.read()
    page = words(visit(f"{GROUPS}g/"))
    assert "Waiting for 1 of 2 to rejoin one is silent, and is removed when its session of 45 s ends." in page
    assert "Began because: two joined." in page


def test_the_history_tells_causes_and_moves(visit, listed):
    listed.feed.event("shop-b", "rebalance_completed", rebalance=rebalance_record())
    history_write("local")
    page = words(visit(f"{GROUPS}shop-b/"))
    assert "1 moved , 1 kept in generation 2" in page and "orders 1 one → to two" in page
    assert "two joined." in words(visit(f"{GROUPS}shop-b/rebalances/"))
    one = words(visit(f"{GROUPS}shop-b/rebalances/1/"))
    assert "joining 100 ms" in one and "Members without partitions" in one
    visit(f"{GROUPS}shop-b/rebalances/2/", 404)


def test_a_group_that_is_not_there_says_so_and_waits(visit, listed):
    page = visit(f"{GROUPS}never-seen/", 404)
    assert "There is no such group on local" in page and 'data-key="never-seen"' in page
    visit(f"{GROUPS}~!/", 404)


def test_many_members_are_shown_in_part(visit, world):
    world.group("big", members=[member_view(f"m{n:03d}-1") for n in range(60)])
    world.read()
    assert visit(f"{GROUPS}big/").count('<th scope="row" class="member"') == 51  # fifty and the template
    assert visit(f"{GROUPS}big/", members="all").count('<th scope="row" class="member"') == 61


# Writes


def test_deleting_asks_first_and_says_what_is_lost(visit, listed):
    address = f"{GROUPS}Shop-A/delete/"
    page = words(visit(address))
    assert "its committed offsets go with it: 1 partition" in page and "orders 0 3" in page
    response = visit.client.post(address)
    assert response["Location"] == f"{GROUPS}Shop-A/" and "Shop-A" not in listed.gateway.groups
    assert AuditRow.objects.get().action == "group_delete"


def test_a_refused_deletion_says_why_on_the_page(visit, listed):
    response = visit.client.post(f"{GROUPS}shop-b/delete/")
    assert response.status_code == 409 and "stop them first" in text_of(response)
    assert "NON_EMPTY_GROUP (68)" in text_of(response)


def test_a_member_is_removed_with_a_reason(visit, listed):
    address = f"{GROUPS}shop-b/members/one-1/remove/"
    assert "Remove this member?" in visit(address)
    assert visit.client.post(address, {"reason": "stuck"})["Location"] == f"{GROUPS}shop-b/"
    assert AuditRow.objects.get().after == {"member_id": None, "reason": "stuck"}
    visit(f"{GROUPS}shop-b/members/nobody/remove/", 404)


def test_a_viewer_sees_everything_and_changes_nothing(db, listed):
    client = somebody("vera", Role.READ)
    assert client.get(f"{GROUPS}Shop-A/").status_code == 200
    for address in (f"{GROUPS}Shop-A/delete/", f"{GROUPS}shop-b/members/one-1/remove/"):
        assert client.get(address).status_code == 403 and client.post(address).status_code == 403
    assert "Shop-A" in listed.gateway.groups


def test_what_is_not_granted_is_not_there(db, listed):
    client = somebody("shopper", Role.ADMIN, "[Ss]hop-*")
    page = text_of(client.get(GROUPS))
    assert "shop-b" in page and "other" not in page.replace("another", "")
    assert client.get(f"{GROUPS}other/").status_code == 404


def test_forms_need_their_token(admin_user, listed):
    """https://github.com/yahoo/CMAK/issues/935"""
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)
    response = client.post(f"{GROUPS}Shop-A/delete/")
    assert response.status_code == 403 and "This form is too old" in text_of(response)


# Topics, brokers, audit, tokens


def test_topics_and_who_reads_them(visit, listed):
    assert "orders 2 2" in words(visit("/clusters/local/topics/"))
    page = words(visit("/clusters/local/topics/orders/"))
    assert "2 groups read this topic" in page and "Shop-A" in page and "shop-b" in page
    assert "Partitions 2, 20 records in their logs" in page and "0 0 10 10 1 0 10 10" in page
    visit("/clusters/local/topics/nowhere/", 404)


def test_a_topic_page_asks_the_cluster_nothing(visit, listed):
    """Without the right to list groups there was no topic page at all.

    https://github.com/obsidiandynamics/kafdrop/issues/373
    https://github.com/provectus/kafka-ui/issues/928
    """
    listed.gateway.failing = Problem(kind=FAILED, resource="cluster local", message="Group authorization failed.")
    page = words(visit("/clusters/local/topics/orders/"))
    assert "2 groups read this topic" in page and "0 0 10 10 1 0 10 10" in page
    assert listed.gateway.calls == []


def test_a_topic_that_is_gone_is_marked(visit, world):
    """Offsets that outlive their topic killed the page.

    https://github.com/tchiotludo/akhq/issues/216
    """
    world.group("g", {("gone", 0): 1, ("a/b", 0): 1})
    world.read()
    page = words(visit("/clusters/local/topics/"))
    assert "gone – 1 gone; offsets are left" in page and "a/b" in page


def test_brokers_are_listed_with_their_age(visit, listed):
    listed.feed.broker(2, state="read_only", error="No space left on device")
    listed.read()
    page = words(visit("/clusters/local/brokers/"))
    assert "1 alive 127.0.0.1:9092" in page and "refuses writes No space left on device" in page


def test_the_audit_lists_what_was_done(visit, listed):
    visit.client.post(f"{GROUPS}Shop-A/delete/")
    page = words(visit("/audit/"))
    assert "admin group delete Shop-A local Done" in page
    assert "Nothing was done yet" in visit("/audit/", actor="nobody")
    AuditRow.objects.create(actor="ann", action="job_cancel", cluster="local", outcome="done")
    AuditRow.objects.create(actor="ann", action="group_delete", cluster="local", outcome="done")
    page = words(visit("/audit/", actor="ann"))
    assert "job cancel local Done" in page and "group delete (the empty id) local Done" in page
    visit("/audit/", 400, page="x")


def test_a_token_is_made_shown_once_and_revoked(visit, feed):
    made = visit.client.post("/tokens/", {"name": "ci", "role": "read", "cluster": "*", "group_pattern": "shop-*"})
    token = re.search(r"kaas_[\w-]{20,}", text_of(made))
    assert token and token[0] not in visit("/tokens/") and "ci" in visit("/tokens/")
    row = Token.objects.get()
    assert visit.client.post(f"/tokens/{row.pk}/delete/")["Location"] == "/tokens/" and not Token.objects.exists()


def test_a_token_that_makes_no_sense_is_refused_on_the_page(visit, feed):
    response = visit.client.post("/tokens/", {"name": "", "role": "read"})
    assert response.status_code == 400 and "Name:" in text_of(response)


# The frame


def test_colours_are_remembered_in_a_cookie(visit, feed):
    response = visit.client.post("/theme/", {"theme": "dark", "next": "/audit/"})
    assert response["Location"] == "/audit/" and 'data-theme="dark"' in visit("/audit/")
    visit.client.post("/theme/", {"theme": ""})
    assert "data-theme=" not in visit("/audit/").split("<head>")[0]
    assert visit.client.post("/theme/", {"theme": "x", "next": "https://evil.example"})["Location"] == "/"
    visit.client.cookies["kaas_theme"] = '"><script>'
    assert "data-theme=" not in visit("/audit/").split("<head>")[0]


def test_an_address_that_is_none_has_a_page(visit):
    assert "There is no such page" in visit("/nowhere/", 404)


def test_pages_carry_no_script_or_style_of_their_own(visit, listed):
    addresses = [
        GROUPS,
        f"{GROUPS}shop-b/",
        "/clusters/local/topics/",
        "/clusters/local/brokers/",
        "/audit/",
        "/tokens/",
    ]
    for address in addresses:
        page = visit(address)
        inline = re.findall(r"<script(?![^>]*(?:src=|application/json))|<style|\sstyle=|\son[a-z]+=", page)
        assert not inline, address
        assert re.search(r"<h1[ >]", page) and page.count("<h1") == 1 and '<html lang="en"' in page


def test_every_page_has_a_name_that_can_be_reversed():
    assert reverse("group", kwargs={"cluster": "local", "group": "~"}) == f"{GROUPS}~/"
