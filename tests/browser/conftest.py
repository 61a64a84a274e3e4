"""One console for each process that runs tests, one Chromium for each file, a visitor for each test.

Playwright keeps an event loop running in this thread for as long as it lives, which tests of other folders could not
bear: it ends with its file.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.support.browser import Console, Visitor, chromium, chromium_path


@pytest.fixture(scope="session")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """The product, running."""
    chromium_path()
    with Console(tmp_path_factory.mktemp("console")) as started:
        yield started


@pytest.fixture(scope="module")
def browser(console: Console) -> Iterator[Browser]:
    """A headless Chromium."""
    with sync_playwright() as playwright:
        started = chromium(playwright)
        yield started
        started.close()


@pytest.fixture(scope="module")
def _visitor(browser: Browser, console: Console) -> Visitor:
    return Visitor(browser, console)


@pytest.fixture
def visitor(_visitor: Visitor) -> Iterator[Visitor]:
    """Somebody signed in; the test fails when a page complained."""
    yield _visitor
    _visitor.leave()
