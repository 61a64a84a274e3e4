"""What holds for every page: it fits a narrow screen, it is accessible in light and in dark, one can go through it by keys.

The pages are filled with the worst ids that Kafka allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

import pytest
from playwright.sync_api import Page, expect

from groups.testing.feed import last_rebalance, member_view, offset_view, snapshot
from tests.support.browser import NARROW, WIDE, Console, Visitor, violations

LONG = "x" * 300
LIST = "/clusters/local/groups/"
GROUP = f"{LIST}checkout-orders/"
PAGES = {
    "list": LIST,
    "list of nothing": f"{LIST}?search=nobody",
    "list with a bad question": f"{LIST}?regex=(",
    "group": GROUP,
    "group of long names": f"{LIST}{LONG}/",
    "group without members": f"{LIST}nightly-report/",
    "group that is not there": f"{LIST}never-seen/",
    "lag": f"{GROUP}lag/",
    "rebalances": f"{GROUP}rebalances/",
    "reset": f"{LIST}nightly-report/reset/",
    "deleting a group": f"{LIST}nightly-report/delete/",
    "deleting offsets": f"{LIST}nightly-report/offsets/delete/",
    "removing a member": f"{GROUP}members/checkout-1-1/remove/",
    "topics": "/clusters/local/topics/",
    "topic": "/clusters/local/topics/orders/",
    "brokers": "/clusters/local/brokers/",
    "alerts": "/alerts/",
    "jobs": "/jobs/",
    "resetting many groups": "/clusters/local/groups-reset/?search=nightly",
    "deleting many groups": "/clusters/local/groups-delete/?search=nightly",
    "audit": "/audit/",
    "tokens": "/tokens/",
    "no such page": "/nowhere/",
}
SIZES = {"wide": WIDE, "narrow": NARROW}


@pytest.fixture(scope="module", autouse=True)
def filled(console: Console) -> None:
    """Groups with everything in them."""
    console.feed.topic("orders", *((5, 90_000) for _ in range(3)))
    owned = {"orders": [0, 1, 2]}
    steady = [member_view(f"checkout-{n}-1", owned if n == 1 else None, is_leader=n == 1) for n in range(1, 4)]
    ends = {"log_start": 5, "log_end": 90_000, "last_stable": 89_000}
    offsets = {
        ("orders", 0): offset_view(89_990, metadata="host=10.0.3.17", **ends),
        ("orders", 1): offset_view(2, **ends),
        ("orders", 2): offset_view(2**60, **ends),
    }
    last = last_rebalance("session_expired", detail={"client_id": "checkout-3", "silent_ms": 10_000})
    console.feed.group(snapshot("checkout-orders", members=steady, offsets=offsets, last_rebalance=last))
    console.feed.group(snapshot("nightly-report", offsets={("orders", 0): 3, ("gone-topic", 0): 1}))
    long_member = member_view(f"{LONG}-1", {f"topic-{LONG[:240]}": list(range(0, 200, 2))}, client_host=LONG)
    long_offsets = {(f"topic-{LONG[:240]}", 0): offset_view(1, metadata=LONG)}
    console.feed.group(snapshot(LONG, members=[long_member], offsets=long_offsets))


def settled(page: Page) -> Page:
    """A page that has had its first message, if it gets any."""
    if page.locator("#listing[data-live], #group").count():
        expect(page.locator("#age")).to_have_attribute("data-state", "live")
    return page


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
def test_nothing_is_wider_than_the_screen(visitor: Visitor, path: str, size: dict[str, int]) -> None:
    page = settled(visitor.page(path, viewport=size))
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


@pytest.mark.parametrize("shade", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
def test_axe_finds_nothing(visitor: Visitor, path: str, shade: str) -> None:
    page = settled(visitor.page(path, color_scheme=shade, reduced_motion="reduce"))
    assert not violations(page)


def test_the_sign_in_is_accessible(visitor: Visitor) -> None:
    page = visitor.stranger("/login/", viewport=NARROW)
    assert not violations(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def test_rows_become_cards_on_a_narrow_screen(visitor: Visitor) -> None:
    page = settled(visitor.page(LIST, viewport=NARROW))
    cells = page.locator('tr[data-key="checkout-orders"] > *')
    expect(page.locator("#groups thead")).not_to_be_in_viewport()
    boxes = [box for box in (cells.nth(n).bounding_box() for n in range(cells.count())) if box]
    assert len({round(box["y"]) for box in boxes}) > 3, "cells stand under each other"


def test_one_goes_through_the_console_by_keys_only(visitor: Visitor) -> None:
    page = settled(visitor.page(LIST))
    page.keyboard.press("/")
    page.keyboard.type("checkout-orders")
    expect(page.locator("#groups tbody tr")).to_have_count(1)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/checkout-orders/")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard")).to_be_visible()
    page.keyboard.press("Escape")
    page.clock.set_fixed_time(datetime.now())  # two keys are one chord for a moment: here that moment lasts
    page.reload()
    for second, heading in (
        ("t", "Topics"),
        ("b", "Brokers"),
        ("l", "Alerts"),
        ("a", "Audit"),
        ("g", "Consumer groups"),
    ):
        page.keyboard.press("g")
        page.keyboard.press(second)
        expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
        page.wait_for_load_state()  # the scripts of the page listen from here on


def test_the_focus_is_always_visible(visitor: Visitor) -> None:
    page = settled(visitor.page(GROUP))
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    for _ in range(12):
        page.keyboard.press("Tab")
        style = "el => getComputedStyle(el).outlineStyle + getComputedStyle(el).outlineWidth"
        assert page.locator(":focus").evaluate(style) == "solid2px"


@pytest.mark.parametrize("shade", ["light", "dark"])
def test_colours_follow_the_system_and_the_switch_is_remembered(visitor: Visitor, shade: str) -> None:
    page = visitor.page("/audit/", color_scheme=shade)
    ground: Callable[[], str] = lambda: page.evaluate("getComputedStyle(document.body).backgroundColor")  # noqa: E731
    assert ground() == {"light": "rgb(244, 246, 247)", "dark": "rgb(13, 16, 18)"}[shade]
    page.locator(".user-menu summary").click()
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert ground() == "rgb(13, 16, 18)"
    page.reload()
    assert ground() == "rgb(13, 16, 18)"
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_reduced_motion_is_honoured(visitor: Visitor) -> None:
    page = settled(visitor.page(LIST, reduced_motion="reduce"))
    row = page.locator("#groups tbody td").first
    row.evaluate("cell => (cell.dataset.changed = '')")
    assert row.evaluate("cell => getComputedStyle(cell).animationName") == "none"


def test_rows_that_change_shift_nothing(visitor: Visitor, console: Console) -> None:
    page = settled(visitor.page(f"{LIST}?search=nightly-report"))
    page.evaluate(
        """() => {
          window.shifted = 0;
          new PerformanceObserver((list) => list.getEntries().forEach((one) => (window.shifted += one.value)))
            .observe({ type: "layout-shift", buffered: false });
        }"""
    )
    for committed in (1, 20, 88_000):
        console.feed.group(snapshot("nightly-report", offsets={("orders", 0): committed}))
        lag = page.locator('tr[data-key="nightly-report"] [data-cell="total_lag"]')
        expect(lag).to_have_text(re.compile(f"^{90_000 - committed:,}$"))
    assert page.evaluate("window.shifted") < 0.01
