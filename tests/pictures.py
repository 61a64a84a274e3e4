"""A picture of every page, wide and narrow, in light and in dark: for whoever wants to judge the console without starting it.

    python -m tests.pictures        (or `make pictures`)

Runs the product with lifelike groups and writes docs/screenshots/pages/<page>-<width>-<shade>.jpg. A page that complains, or
does not become what it should show, ends it.
"""

from __future__ import annotations

import random
import tempfile
from contextlib import ExitStack
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from kaasadmin.demo import scenes
from kaasadmin.demo.traffic import Traffic, make_topics
from tests.support.browser import NARROW, WIDE, Console, Visitor, chromium
from tests.tour import FLAPPING_MS, GROUP, HISTORY, SCENES, SCREENSHOTS, SOON_MS, playing

FOLDER = SCREENSHOTS / "pages"
QUALITY = 60
LIST = "/clusters/local/groups/"
EMPTY = f"{LIST}backfill-2026-11/"
LIVE = f"{LIST}{GROUP}/"
PAGES = {
    "groups": LIST,
    "group": LIVE,
    "consumer-group": f"{LIST}shipping/",
    "group-without-members": EMPTY,
    "group-that-is-not-there": f"{LIST}never-seen/",
    "lag": f"{LIVE}lag/",
    "rebalances": f"{LIVE}rebalances/",
    "recorded-rebalance": f"{LIVE}?at=1",
    "records": f"{LIVE}records/?topic=payments&partition=0",
    "reset": f"{EMPTY}reset/",
    "undo": f"{EMPTY}undo/",
    "delete-offsets": f"{EMPTY}offsets/delete/",
    "delete-group": f"{EMPTY}delete/",
    "reset-groups": "/clusters/local/groups-reset/?state=Empty",
    "delete-groups": "/clusters/local/groups-delete/?state=Empty",
    "topics": "/clusters/local/topics/",
    "topic": "/clusters/local/topics/payments/",
    "brokers": "/clusters/local/brokers/",
    "alerts": "/alerts/",
    "jobs": "/jobs/",
    "audit": "/audit/",
    "tokens": "/tokens/",
}
LOOKS = {
    f"{width}-{shade}": {"viewport": size, "color_scheme": shade}
    for width, size in (("wide", WIDE), ("narrow", NARROW))
    for shade in ("light", "dark")
}


def fill(console: Console, page: Page) -> None:
    """Until there is something on every page: a member that fell silent, its history, members of a consumer group that came and
    left, a reset that can be undone."""
    page.goto(console.url + LIST)
    page.locator(f'tr[data-key="{GROUP}"]').filter(has_text="was silent").wait_for(timeout=FLAPPING_MS)
    page.goto(f"{console.url}{LIST}shipping/")
    page.locator("#rebalances tbody tr").nth(3).wait_for(timeout=FLAPPING_MS)
    console.manage("shell", "-c", HISTORY)
    page.goto(f"{console.url}{EMPTY}reset/")
    page.get_by_role("button", name="Make the plan").click()
    page.get_by_role("button", name="Apply the plan").click()
    page.get_by_role("dialog").get_by_role("button", name="Apply").click()
    page.get_by_text("every partition reads back as asked").wait_for(timeout=SOON_MS)


def take(visitor: Visitor, name: str, path: str) -> None:
    """One page in every look."""
    for look, options in LOOKS.items():
        page = visitor.page(path, **options)
        if page.locator("#listing[data-live], #group").count():
            page.locator('#age[data-state="live"]').wait_for(timeout=SOON_MS)
        page.screenshot(path=FOLDER / f"{name}-{look}.jpg", type="jpeg", quality=QUALITY)
        page.context.close()
    print(f"docs/screenshots/pages/{name}-*.jpg")


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        console = stack.enter_context(Console(Path(stack.enter_context(tempfile.TemporaryDirectory()))))
        bootstrap = console.broker.address
        make_topics(bootstrap, scenes.TOPICS)
        traffic = Traffic(bootstrap, scenes.TOPICS, random.Random(7))
        stack.callback(traffic.stop)
        stack.enter_context(playing(bootstrap, *SCENES, scenes.flapping, scenes.scaling))
        visitor = Visitor(chromium(stack.enter_context(sync_playwright())), console)
        fill(console, visitor.page())
        for name, path in PAGES.items():
            take(visitor, name, path)
        visitor.leave()


if __name__ == "__main__":
    main()
