"""Whatever text a client, an operator or a record brings: pages, exports, answers and sockets keep it as text.

One text at a time stands in every place that takes any: ids of group, member, client and instance, host, protocol, topics of a
subscription, metadata, reasons, records, names of rules, webhooks and tokens. Then everything is read that shows it.
"""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from asgiref.sync import sync_to_async
from channels.routing import URLRouter
from django.test import AsyncClient, Client

from groups.alerts.evaluation import alerts_evaluate
from groups.feeds import running_feeds
from groups.history import history_write
from groups.jobs.running import jobs_run
from groups.keys import key_of
from groups.models import Job
from groups.routing import websocket_urlpatterns
from groups.testing.feed import member_view, offset_view, rebalance_record, snapshot
from groups.testing.fixtures import CLUSTER
from groups.testing.sockets import LiveClient

TEXTS = (
    *(
        "<script>alert(1)</script>",
        "\"><i id=evil onclick='alert(1)'>",
        "</script><img id=evil src=x onerror=alert(1)>",
    ),
    *("javascript:alert(1)", "{{ 7|add:7 }}{% now 'Y' %}", 'it\'s "quoted", \\ and `ticked`', "&lt;&#39;&amp;"),
    *("=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(1)", "\t=1", "two\r\nlines\n", "a\u2028b\u2029c"),
    *("\u202egnp.exe\u2066", "\x1b[2J\x07\x00end", "\ufeffzero\u200bwidth", "../../etc/passwd", "%2F%00%3Cb%3E", "😀é"),
)
PAGES = "/clusters/local/"
HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
LOADS = ("href", "src", "action", "formaction", "hx-get", "hx-post")


class Reader(HTMLParser):
    """Collects what a page would run, and the text that a reader sees."""

    def __init__(self):
        super().__init__()
        self.faults = []
        self.text = []
        self.data = []
        self._inside = ""

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self._inside = tag if tag != "script" else f"script {given.get('type', '')} {given.get('src', '')}"
        if given.get("id") == "evil" or any(name.startswith("on") for name in given):
            self.faults.append((tag, attrs))
        self.faults += [(tag, one) for one in attrs if one[0] in LOADS and not str(one[1]).startswith(("/", "?", "#"))]

    def handle_endtag(self, tag):
        self._inside = ""

    def handle_data(self, data):
        if self._inside.startswith("script application/json"):
            self.data.append(json.loads(data))
        elif self._inside.startswith(("script", "style")):
            self.faults.append((self._inside, data))
        elif self._inside != "textarea":  # what was typed goes back as it was
            self.text.append(data)


def read(response):
    """A page's text; fails where it would run something, or hide something from its reader."""
    page = response.content.decode()
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.faults, reader.faults
    text = "".join(reader.text)
    hidden = {mark for mark in text if unicodedata.category(mark) in HIDDEN and mark != "\n"}
    assert not hidden, [ascii(line.strip()) for line in text.split("\n") if hidden & set(line)]
    return text


class Stage:
    """A world in which a text stands everywhere: the group `live` has members, `idle` has none."""

    def __init__(self, world, user, text):
        self.world = world
        self.text = text
        self.live, self.idle = text, f"{text}~idle"
        self.client = Client()
        self.client.force_login(user)
        world.topic("orders", 10)
        log = world.gateway.logs["orders", 0]
        raw = text.encode()
        log.records[3] = replace(log.records[3], key=raw, value=raw, headers=((text, raw),))
        log.records[4] = replace(log.records[4], value=json.dumps({text: [text]}).encode())
        self.publish()

    def member(self):
        names = {"client_id": self.text, "instance_id": self.text, "client_host": self.text}
        return member_view(f"{self.text}-1", {"orders": [0]}, **names, subscription=["orders", self.text])

    def publish(self):
        held = {
            ("orders", 0): offset_view(4, metadata=self.text),
            (f"z{self.text}", 0): offset_view(1, metadata=self.text),
        }
        kinds = {"protocol": self.text, "protocol_type": self.text}
        live = snapshot(self.live, members=[self.member()], offsets=held, leader=f"{self.text}-1", **kinds)
        self.world.gateway.group(self.live, {("orders", 0): 4}, [f"{self.text}-1"])
        self.world.feed.group(live, "member_left", member_id=f"{self.text}-2", reason=self.text)
        self.world.group(self.idle, {("orders", 0): 4})
        self.world.feed.event(self.live, "rebalance_completed", rebalance=self.rebalance())
        self.world.read()
        history_write("local")

    def rebalance(self):
        member = f"{self.text}-2"
        return rebalance_record(
            cause="member_left",
            member_id=member,
            detail={"client_id": self.text, "reason": self.text},
            also=[{"cause": "member_joined", "member_id": member, "detail": {"client_id": self.text}}],
            moved=[{"topic": self.text, "partition": 1, "from": f"{self.text}-1", "to": member}],
            without_ms={member: 120},
            parts=[{"member_id": member, "name": self.text, "is_new": True, "joined_ms": 0}],
        )

    def page(self, path, status=200, **query):
        response = self.client.get(path, query)
        assert response.status_code == status, (path, response.status_code, response.content[:300])
        return read(response)

    def post(self, path, status=302, **form):
        response = self.client.post(path, form)
        assert response.status_code == status, (path, response.status_code, response.content[:500])
        return response

    def of(self, group_id, rest=""):
        return f"{PAGES}groups/{key_of(group_id)}/{rest}"


@pytest.fixture(params=TEXTS, ids=[ascii(text)[1:-1] for text in TEXTS])
def text(request):
    return request.param


@pytest.fixture
def stage(world, admin_user, text):
    return Stage(world, admin_user, text)


def test_pages_of_groups_show_it_as_text(stage):
    member = key_of(f"{stage.text}-1")
    for rest in ("", "lag/", "rebalances/", "rebalances/1/", "reset/", "offsets/delete/", "records/"):
        stage.page(stage.of(stage.live, rest))
    stage.page(stage.of(stage.live, "delete/"), status=409)
    stage.page(stage.of(stage.idle, "delete/"))
    stage.page(stage.of(stage.live, f"members/{member}/remove/"))
    stage.page(stage.of(stage.live, "records/"), topic="orders", partition=0, around=4)
    stage.page(stage.of(f"{stage.text}?"), status=404)
    for path in ("groups/", "topics/", "topics/orders/", "brokers/"):
        stage.page(f"{PAGES}{path}")


def test_pages_of_writes_show_it_as_text(stage):
    idle = stage.of(stage.idle)
    plan = stage.post(f"{idle}reset/", strategy="earliest", scope="all")["Location"]
    stage.page(plan)
    read(stage.post(plan, status=200, act="apply"))
    stage.page(idle)
    read(stage.post(f"{idle}undo/", status=200))
    read(stage.post(stage.of(stage.live, "delete/"), status=409))
    stage.post(stage.of(stage.live, f"members/{key_of(stage.text + '-1')}/remove/"), reason="why")
    armed = stage.post(stage.of(stage.live, "reset/"), strategy="earliest", scope="all")["Location"]
    stage.page(armed)
    stage.post(armed, act="arm")
    stage.page(stage.of(stage.live))
    stage.post(f"{idle}offsets/delete/", topic="orders")
    stage.page("/audit/")


def test_alerts_and_jobs_show_it_as_text(stage):
    rule = {"kind": "lag", "threshold": "1", "for": "0", "unit": "min", "cluster": "*", "group_pattern": "*"}
    stage.client.post("/alerts/rules/", {"name": stage.text, **rule})
    stage.post("/alerts/rules/", name="plain", **rule)
    stage.client.post("/alerts/webhooks/", {"name": stage.text, "url": "https://example.org/x", "secret": "0" * 16})
    alerts_evaluate("local")
    assert "records wait" in stage.page("/alerts/")
    stage.page(f"{PAGES}groups-delete/", search="~idle")
    stage.post(f"{PAGES}groups-delete/?search=~idle")
    jobs_run()
    stage.page(f"/jobs/{Job.objects.get().pk}/")
    stage.page("/jobs/")
    stage.client.post("/tokens/", {"name": stage.text, "role": "read"})
    stage.page("/tokens/")


def test_what_is_typed_is_shown_as_text(stage):
    """A refused form comes back as it was filled, and a refused question is told."""
    for form in (
        {"strategy": stage.text, "scope": "all"},
        {"strategy": "csv", "scope": "all", "value_csv": stage.text},
        {"strategy": "timestamp", "scope": "all", "value_timestamp": stage.text},
        {"strategy": "earliest", "scope": "topics", "other_topic": stage.text, "other_partitions": stage.text},
    ):
        response = stage.client.post(stage.of(stage.idle, "reset/"), form)
        assert response.status_code in (302, 400, 404)
        read(response)
    for name in ("search", "regex", "topic", "state", "ordering", "page"):
        response = stage.client.get(f"{PAGES}groups/", {name: stage.text})
        assert response.status_code in (200, 400)
        read(response)
    for path in ("/audit/", "/alerts/", "/jobs/"):
        response = stage.client.get(path, {"cluster": stage.text, "actor": stage.text, "state": stage.text})
        assert response.status_code in (200, 400)
        read(response)


def test_answers_keep_it_as_it_is(stage, api):
    group = f"{CLUSTER}/groups/{key_of(stage.live)}/"
    described = api("GET", group)
    (member,) = described["members"]
    assert described["group_id"] == stage.text and described["protocol"] == stage.text
    names = ("member_id", "client_id", "instance_id", "host")
    assert [member[name] for name in names] == [f"{stage.text}-1", *[stage.text] * 3]
    assert stage.text in member["subscription"]
    assert {row["metadata"] for row in api("GET", f"{group}offsets/")["items"]} == {stage.text}
    assert stage.text in {row["group_id"] for row in api("GET", f"{CLUSTER}/groups/")["items"]}
    (rebalance,) = api("GET", f"{group}rebalances/")["items"]
    assert rebalance["member_id"] == f"{stage.text}-2" and rebalance["moved"][0]["topic"] == stage.text
    records = api("GET", f"{group}records/?topic=orders&partition=0&around=4")
    shown = next(row for row in records["items"] if row["offset"] == 3)
    assert shown["key"]["data"] in (stage.text, stage.text.encode().hex())


async def exported(api, kind):
    bearer = {"Authorization": f"Bearer {api.token}"}
    response = await AsyncClient().get(f"{CLUSTER}/groups/?format={kind}", headers=bearer)
    return b"".join([chunk async for chunk in response.streaming_content]).decode()


async def test_exports_keep_it_and_run_nothing(async_db, world, admin_user, api, text):
    await sync_to_async(Stage)(world, admin_user, text)
    lines = [json.loads(line) for line in (await exported(api, "jsonl")).split("\n") if line]
    assert {row["group_id"] for row in lines} == {text, f"{text}~idle"}
    rows = list(csv.reader(io.StringIO(await exported(api, "csv"), newline="")))
    assert {len(row) for row in rows} == {len(rows[0])}
    cells = {cell for row in rows[1:] for cell in row}
    assert text in cells or f"'{text}" in cells
    assert not {cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))}


async def test_sockets_keep_it_as_it_is(async_db, world, admin_user, api, text):
    await sync_to_async(Stage)(world, admin_user, text)
    application = URLRouter(websocket_urlpatterns)
    async with running_feeds():
        for path in ("groups/", f"groups/{key_of(text)}/"):
            socket = LiveClient(application, f"/ws/clusters/local/{path}", api.token)
            assert await socket.open()
            first = await socket.next()
            shown = first.get("groups") or [first["group"]]
            assert text in {row["group_id"] for row in shown}
            world.feed.event(text, "member_left", member_id=text, reason=text)
            event = (await socket.next())["event"]
            assert (event["group_id"], event["member_id"]) == (text, text)
            await socket.leave()
