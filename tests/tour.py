"""The screenshots of docs/TOUR.md, made anew: a stranger's walk from a flapping group to an undone reset.

    python -m tests.tour            (or `make tour`)

Runs the product with lifelike groups, walks through it in a real Chromium as the tour tells, and writes
docs/screenshots/tour-*.png. Each step waits for what it shows, so a tour that no longer fits the product ends with the step
that does not.
"""

from __future__ import annotations

import random
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from kaasadmin.demo import scenes
from kaasadmin.demo.traffic import Traffic, make_topics
from tests.support.browser import Console, Visitor, chromium

SCREENSHOTS = Path(__file__).resolve().parent.parent / "docs" / "screenshots"
GROUP = "fraud-model-v7"
SCENES = (scenes.steady, scenes.poison, scenes.idle, scenes.simple)
FLAPS = 3
FLAPPING_MS = 180_000
SOON_MS = 60_000
HISTORY = "from groups.history import history_write\nwhile history_write('local'): pass"


@contextmanager
def playing(bootstrap: str, *plays: object) -> Iterator[threading.Event]:
    """Scenes of the demo, until the block or the event ends."""
    ending = threading.Event()
    stage = scenes.Stage(bootstrap=bootstrap, dice=random.Random(7), ending=ending)
    threads = [threading.Thread(target=play, args=(stage,)) for play in plays]  # type: ignore[arg-type]
    for thread in threads:
        thread.start()
    try:
        yield ending
    finally:
        ending.set()
        for thread in threads:
            thread.join()


class Tour:
    """The walk. `page` is where it stands; every stop of it is a picture."""

    def __init__(self, console: Console, page: Page) -> None:
        self.console = console
        self.page = page

    def picture(self, name: str) -> None:
        self.page.mouse.move(0, 0)
        self.page.screenshot(path=SCREENSHOTS / f"tour-{name}.png")
        print(f"docs/screenshots/tour-{name}.png")

    def see(self) -> None:
        """The group flaps: the list shows it, its page says why."""
        page = self.page
        page.goto(f"{self.console.url}/clusters/local/groups/")
        silent = page.locator(f'tr[data-key="{GROUP}"]').filter(has_text="was silent")
        silent.wait_for(timeout=FLAPPING_MS)
        self.picture("1-list")
        page.get_by_role("link", name=GROUP).click()
        for _ in range(FLAPS):
            page.locator(".lane[data-silent]").wait_for(timeout=FLAPPING_MS)
            page.locator(".lane[data-silent]").wait_for(state="detached", timeout=FLAPPING_MS)
        self.console.manage("shell", "-c", HISTORY)
        page.reload()
        page.locator(".advice", has_text="Flapping").wait_for(timeout=SOON_MS)
        page.locator(".lane[data-silent]").wait_for(timeout=FLAPPING_MS)
        self.picture("2-flapping")

    def read(self) -> None:
        """One of its rebalances, and the records that it has to do with."""
        page = self.page
        newest = int(page.locator("#scrub").get_attribute("data-last") or 0)
        for number in range(newest, 0, -1):
            page.goto(f"{self.console.address(GROUP)}?at={number}")
            if "was silent" in page.locator("#recorded h3").first.inner_text():
                break
        page.locator(".recorded-plot .lane").first.wait_for()
        self.picture("3-rebalance")
        page.locator('#offsets [data-cell="committed"] a').first.click()
        page.locator("tr.border").wait_for(timeout=SOON_MS)
        self.picture("4-records")

    def reset(self) -> None:
        """The group is stopped; its offsets go back, and then where they were."""
        page = self.page
        page.goto(self.console.address(GROUP))
        page.locator('[data-fact="state"]', has_text="Empty").wait_for(timeout=SOON_MS)
        page.get_by_role("link", name="Reset offsets").click()
        page.get_by_label("By so many records").check()
        page.locator("#value_shift").fill("-100")
        page.get_by_role("button", name="Make the plan").click()
        page.get_by_role("button", name="Apply the plan").wait_for()
        self.picture("5-plan")
        page.get_by_role("button", name="Apply the plan").click()
        page.get_by_role("dialog").get_by_role("button", name="Apply").click()
        page.get_by_text("every partition reads back as asked").wait_for(timeout=SOON_MS)
        self.picture("6-applied")
        page.get_by_role("link", name="Undo").click()
        page.get_by_role("button", name="Put them back").wait_for()
        self.picture("7-undo")
        page.get_by_role("button", name="Put them back").click()
        page.get_by_role("heading", level=1, name="Put back").wait_for(timeout=SOON_MS)


def main() -> None:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        console = stack.enter_context(Console(folder))
        bootstrap = console.broker.address
        make_topics(bootstrap, scenes.TOPICS)
        traffic = Traffic(bootstrap, scenes.TOPICS, random.Random(7))
        stack.callback(traffic.stop)
        stack.enter_context(playing(bootstrap, *SCENES))
        ending = stack.enter_context(playing(bootstrap, scenes.flapping))
        visitor = Visitor(chromium(stack.enter_context(sync_playwright())), console)
        tour = Tour(console, visitor.page())
        tour.see()
        tour.read()
        ending.set()
        tour.reset()
        visitor.leave()


if __name__ == "__main__":
    main()
