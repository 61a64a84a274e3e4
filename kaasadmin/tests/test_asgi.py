"""kaasadmin.asgi, served by a real uvicorn."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from groups.testing.feed import snapshot
from kaasadmin.tests.product import running

BASE = "/kafka"


@pytest.fixture(scope="module")
def product(valkey, tmp_path_factory):
    with running(valkey, tmp_path_factory.mktemp("data"), base=BASE) as made:
        yield made


def test_the_readers_run_with_the_server(product):
    product.feed.group(snapshot("shop"))
    deadline = time.monotonic() + 10
    while True:
        status, body = product.get(f"{BASE}/api/v1/clusters/local/groups/", Authorization=f"Bearer {product.token}")
        if [row["group_id"] for row in json.loads(body)["items"]] == ["shop"]:
            break
        assert time.monotonic() < deadline, (status, body)
        time.sleep(0.02)


def test_links_stand_below_the_base_path(product):
    """https://github.com/confluentinc/cp-all-in-one/issues/154"""
    status, body = product.get(f"{BASE}/login/")
    assert status == 200 and f"{BASE}/".encode() in body
    assert product.get(f"{BASE}/api/v1/nothing/")[0] == 404


async def test_sockets_are_live_below_the_base_path(product):
    async with product.socket(f"{BASE}/ws/clusters/local/groups/", Origin=f"http://127.0.0.1:{product.port}") as live:
        assert json.loads(await live.recv())["type"] == "snapshot"
        delays = []
        for number in range(20):
            begin = time.perf_counter()
            product.feed.group(snapshot(f"live-{number}"))
            while json.loads(await live.recv())["type"] != "event":
                pass
            delays.append(time.perf_counter() - begin)
        assert sorted(delays)[10] < 0.05


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (f"{BASE}/ws/clusters/local/groups/", {"Authorization": "Bearer kaas_nonsense"}),
        (f"{BASE}/ws/clusters/local/groups/", {"Origin": "http://evil.example"}),
        (f"{BASE}/ws/nothing/", {}),
        ("/elsewhere", {}),
    ],
)
async def test_a_socket_that_is_refused_says_so_in_the_handshake(product, path, headers):
    with pytest.raises(InvalidStatus) as refused:
        async with product.socket(path, **headers):
            pass
    assert refused.value.response.status_code == 403


async def test_a_session_opens_a_socket_for_our_own_pages_only(product):
    url = f"ws://127.0.0.1:{product.port}{BASE}/ws/clusters/local/groups/"
    cookie = await asyncio.to_thread(product.session)
    own = {"Cookie": cookie, "Origin": f"http://127.0.0.1:{product.port}"}
    async with connect(url, additional_headers=own) as live:
        assert json.loads(await live.recv())["type"] == "snapshot"
    for headers in ({"Cookie": cookie}, {"Cookie": cookie, "Origin": "http://evil.example"}, {"Origin": own["Origin"]}):
        with pytest.raises(InvalidStatus):
            async with connect(url, additional_headers=headers):
                pass


async def test_many_sockets_at_once(product):
    async def one(number):
        async with product.socket(f"{BASE}/ws/clusters/local/groups/many/") as live:
            assert json.loads(await live.recv())["type"] == "snapshot"
            ready.release()
            while json.loads(await live.recv())["type"] != "event":
                pass

    ready = asyncio.Semaphore(0)
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        for number in range(50):
            group.create_task(one(number))
        for _ in range(50):
            await ready.acquire()
        product.feed.group(snapshot("many"))
