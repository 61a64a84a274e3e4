"""Migrations while the console serves: it begins on the schema before the newest one, and goes on while that one is done."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.request
from contextlib import nullcontext

import pytest
from django.db.migrations.loader import MigrationLoader

from groups.testing.feed import snapshot
from kaasadmin.tests.postgres import postgres
from kaasadmin.tests.product import running

GROUP = "/clusters/local/groups/shop/"
API = "/api/v1/clusters/local/groups/"
READS = ("/readyz", "/metrics", API, f"{API}shop/", f"{API}shop/offsets/", "/api/v1/audit/", "/api/v1/tokens/")


def before_the_last():
    """The name of the migration on which the newest one of the groups stands."""
    graph = MigrationLoader(None).graph
    (last,) = graph.leaf_nodes("groups")
    return max(node.key[1] for node in graph.node_map[last].parents if node.key[0] == "groups")


@pytest.fixture(params=["sqlite", "postgresql"])
def product(request, valkey, tmp_path):
    with postgres() if request.param == "postgresql" else nullcontext("") as url:
        schema = ("groups", before_the_last())
        with running(valkey, tmp_path, db=7, schema=schema, DATABASE_URL=url) as made:
            made.feed.group(snapshot("shop", offsets={("orders", 0): 4}))
            yield made


def token_made(product, number):
    """Makes a token over the API, which writes; the status."""
    asked = urllib.request.Request(
        f"http://127.0.0.1:{product.port}/api/v1/tokens/",
        data=json.dumps({"name": f"script {number}", "role": "read"}).encode(),
        headers={"Authorization": f"Bearer {product.token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=20) as answer:
        return answer.status


class Visitor(threading.Thread):
    """Reads, opens a page and writes, again and again until it is told to stop; `rounds` holds the statuses of each time."""

    def __init__(self, product):
        super().__init__()
        self.product = product
        self.cookie = product.session()
        self.rounds = []
        self.problem = None
        self.enough = threading.Event()

    def run(self):
        try:
            while not self.enough.is_set():
                self.rounds.append(self._round())
        except OSError as problem:
            self.problem = problem

    def _round(self):
        own = {"Authorization": f"Bearer {self.product.token}"}
        statuses = {path: self.product.get(path, **own)[0] for path in READS}
        statuses["page"] = self.product.get(GROUP, Cookie=self.cookie)[0]
        return {**statuses, "write": token_made(self.product, len(self.rounds))}


async def test_it_goes_on_answering_reading_and_writing(product):
    visitor = Visitor(product)
    async with product.socket("/ws/clusters/local/groups/shop/") as live:
        visitor.start()
        try:
            assert json.loads(await live.recv())["type"] == "snapshot"
            await asyncio.to_thread(product.manage, "migrate", "-v0")
            product.feed.group(snapshot("shop", offsets={("orders", 0): 5}), "offsets_committed")
            while json.loads(await live.recv())["type"] != "event":
                pass
        finally:
            visitor.enough.set()
            await asyncio.to_thread(visitor.join)
    expected = {**dict.fromkeys((*READS, "page"), 200), "write": 201}
    assert visitor.problem is None and len(visitor.rounds) > 1
    assert [one for one in visitor.rounds if one != expected] == []
    own = {"Authorization": f"Bearer {product.token}"}
    assert product.get("/api/v1/jobs/", **own)[0] == 200, "what the newest schema is for works without a restart"
