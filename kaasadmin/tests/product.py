"""The web process as it really runs: uvicorn on a port of its own, for tests that need what only a real server does."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

from redis import Redis
from websockets.asyncio.client import connect

from groups.testing.feed import FeedWriter
from kaasadmin.processes import SOCKET_PROTOCOL

ROOT = Path(__file__).resolve().parents[2]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Product:
    """A web process, with an administrator's token."""

    def __init__(self, env, port, feed, base, process):
        self.env = env
        self.port = port
        self.feed = feed
        self.base = base
        self.process = process
        self.token = self.manage("token_create", "test").splitlines()[-1]

    def manage(self, *command):
        run = [sys.executable, "manage.py", *command]
        return subprocess.run(run, cwd=ROOT, env=self.env, check=True, capture_output=True, text=True).stdout

    def get(self, path, **headers):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
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


@contextmanager
def running(valkey, data, db=4, base="", processes=1, schema=(), **variables):
    """Web processes on one database and one Redis; yields the one, or all of them when there are several.

    `schema` names an app and an older migration of it, to which the database is taken back before they start.
    """
    redis_url = f"unix://{valkey}?db={db}"
    env = {**os.environ, "KAAS_DATA": str(data), "REDIS_URL": redis_url, "DATABASE_URL": "", "KAAS_BASE_PATH": base}
    env |= variables
    with Redis.from_url(redis_url) as redis:
        redis.flushdb()
        feed = FeedWriter(redis)
        feed.broker()
        older = [["migrate", "-v0", *schema]] if schema else []
        for command in (["migrate", "-v0"], ["administrator_ensure"], *older):
            run = [sys.executable, "manage.py", *command]
            subprocess.run(run, cwd=ROOT, env=env, check=True, capture_output=True)
        ports = [free_port() for _ in range(processes)]
        servers = [_serve(env, port) for port in ports]
        try:
            made = [Product(env, port, feed, base, server) for port, server in zip(ports, servers, strict=True)]
            for product in made:
                _until_ready(product)
            yield made[0] if processes == 1 else made
        finally:
            for server in servers:
                server.terminate()
            # uvicorn ends as the signal wants it, after its own work
            assert {server.wait(20) for server in servers} <= {0, -signal.SIGTERM}


def _serve(env, port):
    serve = [sys.executable, "-m", "uvicorn", "kaasadmin.asgi:application", "--lifespan", "on", "--port", str(port)]
    serve += ["--ws", SOCKET_PROTOCOL]
    # As `make up` starts it, but for the second that open sockets get.
    return subprocess.Popen([*serve, "--log-level", "warning", "--timeout-graceful-shutdown", "1"], cwd=ROOT, env=env)


def _until_ready(product):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert product.process.poll() is None
        try:
            if product.get(f"{product.base}/readyz")[0] == 200:
                return
        except OSError:
            pass
        time.sleep(0.05)
    raise AssertionError("not ready in time")
