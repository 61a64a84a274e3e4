"""kaasadmin.asgi, served by a real uvicorn."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from redis import Redis
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from groups.testing.feed import FeedWriter, snapshot

ROOT = Path(__file__).resolve().parents[2]
BASE = "/kafka"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Product:
    """A web process of its own below a base path, with an administrator's token."""

    def __init__(self, env, port, feed):
        self.env = env
        self.port = port
        self.feed = feed
        self.token = self.manage("token_create", "test").splitlines()[-1]

    def manage(self, *command):
        run = [sys.executable, "manage.py", *command]
        return subprocess.run(run, cwd=ROOT, env=self.env, check=True, capture_output=True, text=True).stdout

    def get(self, path, **headers):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as problem:
            return problem.code, problem.read()

    def session(self):
        """The cookie of a signed-in browser."""
        sign_in = "from django.contrib.sessions.backends.db import SessionStore; from django.contrib.auth import *\n"
        sign_in += "user = get_user_model().objects.get(username='admin'); store = SessionStore()\n"
        sign_in += "store[SESSION_KEY], store[HASH_SESSION_KEY] = str(user.pk), user.get_session_auth_hash()\n"
        sign_in += "store[BACKEND_SESSION_KEY] = 'django.contrib.auth.backends.ModelBackend'; store.save()\n"
        sign_in += "from django.conf import settings; print(settings.SESSION_COOKIE_NAME + '=' + store.session_key)"
        return self.manage("shell", "-v0", "-c", sign_in).strip()

    def socket(self, path, **headers):
        bearer = {"Authorization": f"Bearer {self.token}", **headers}
        return connect(f"ws://127.0.0.1:{self.port}{path}", additional_headers=bearer)


@pytest.fixture(scope="module")
def product(valkey, tmp_path_factory):
    data, port = tmp_path_factory.mktemp("data"), free_port()
    redis_url = f"unix://{valkey}?db=4"
    env = {**os.environ, "KAAS_DATA": str(data), "REDIS_URL": redis_url, "DATABASE_URL": "", "KAAS_BASE_PATH": BASE}
    with Redis.from_url(redis_url) as redis:
        redis.flushdb()
        feed = FeedWriter(redis)
        feed.broker()
        for command in (["migrate", "-v0"], ["administrator_ensure"]):
            run = [sys.executable, "manage.py", *command]
            subprocess.run(run, cwd=ROOT, env=env, check=True, capture_output=True)
        serve = [sys.executable, "-m", "uvicorn", "kaasadmin.asgi:application", "--lifespan", "on", "--port", str(port)]
        server = subprocess.Popen([*serve, "--log-level", "warning"], cwd=ROOT, env=env)
        try:
            made = Product(env, port, feed)
            _until_ready(made, server)
            yield made
        finally:
            server.terminate()
            assert server.wait(20) in (0, -signal.SIGTERM)  # uvicorn ends as the signal wants it, after its own work


def _until_ready(product, server):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert server.poll() is None
        try:
            if product.get(f"{BASE}/readyz")[0] == 200:
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise AssertionError("not ready in time")


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
