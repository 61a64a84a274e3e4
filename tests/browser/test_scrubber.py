"""Back through the rebalances of a group: slider, links, keys, and an address that holds the place."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from groups.testing.feed import member_view, rebalance_record, snapshot
from tests.support.browser import NARROW, Console, Visitor, violations

GROUP = "/clusters/local/groups/scrubbed/"
CAUSES = ("oldest", "middle", "newest")
HISTORY = "from groups.history import history_write; history_write('local')"


def completed(console: Console, client: str) -> None:
    """A rebalance that ended because this client joined, in the history."""
    group = snapshot("scrubbed", members=[member_view("one-1", {"orders": [0]})])
    record = rebalance_record(detail={"client_id": client}, member_id=f"{client}-1")
    console.feed.group(group, "rebalance_completed", rebalance=record)
    console.manage("shell", "-c", HISTORY)


@pytest.fixture(scope="module", autouse=True)
def history(console: Console) -> None:
    """Three rebalances."""
    for client in CAUSES:
        completed(console, client)


def at(page: Page, number: int | None) -> None:
    """The page shows this rebalance, or the present, and its address says so."""
    expect(page).to_have_url(re.compile(rf"\?at={number}$" if number else "scrubbed/$"))
    said = f"rebalance {number} of 3" if number else "now"
    expect(page.locator("#scrub output")).to_have_text(said)
    if number:
        expect(page.locator("#recorded h3").first).to_have_text(f"{CAUSES[number - 1]} joined.")
        expect(page.locator("#lanes")).to_be_hidden()
    else:
        expect(page.locator("#recorded")).to_be_hidden()
        expect(page.locator("#lanes")).to_be_visible()


def test_keys_and_links_go_back_and_forth(visitor: Visitor) -> None:
    page = visitor.page(GROUP)
    at(page, None)
    page.keyboard.press("[")
    at(page, 3)
    page.keyboard.press("[")
    at(page, 2)
    page.get_by_role("link", name="Older rebalance").click()
    at(page, 1)
    page.keyboard.press("]")
    at(page, 2)
    page.get_by_role("link", name="Back to now").click()
    at(page, None)


def test_the_slider_goes_through_them_by_keys(visitor: Visitor) -> None:
    page = visitor.page(GROUP)
    slider = page.get_by_role("slider", name="Rebalance")
    slider.focus()
    page.keyboard.press("Home")
    at(page, 1)
    page.keyboard.press("ArrowRight")
    at(page, 2)
    expect(slider).to_have_attribute("aria-valuetext", "rebalance 2 of 3")
    page.keyboard.press("End")
    at(page, None)


def test_the_address_holds_the_place(visitor: Visitor) -> None:
    page = visitor.page(f"{GROUP}?at=2")
    at(page, 2)
    page.reload()
    at(page, 2)


def test_it_says_what_each_member_did_and_whom_it_waited_for(visitor: Visitor) -> None:
    recorded = visitor.page(f"{GROUP}?at=1").locator("#recorded")
    expect(recorded).to_contain_text("It waited for one, which came back after 100 ms.")
    expect(recorded.locator(".lane").filter(has_text="two")).to_contain_text("joined")
    expect(recorded.locator(".seg-missing")).to_have_count(1)
    expect(recorded).to_contain_text("1 moved, 1 kept")


def test_without_scripts_the_links_do(visitor: Visitor) -> None:
    page = visitor.page(GROUP, java_script_enabled=False)
    page.get_by_role("link", name="Older rebalance").click()
    expect(page.locator("#recorded h3").first).to_have_text("newest joined.")
    expect(page.get_by_role("slider")).to_be_hidden()
    page.get_by_role("link", name="Newer rebalance").click()
    expect(page.locator("#recorded")).to_be_hidden()


def test_a_number_that_is_none_is_no_page(visitor: Visitor, console: Console) -> None:
    assert "There is no rebalance 99" in visitor.page(f"{GROUP}?at=99").locator("main").inner_text()
    expect(visitor.page(f"{GROUP}?at=x").locator("#scrub output")).to_have_text("now")


@pytest.mark.parametrize("shade", ["light", "dark"])
def test_it_is_accessible_and_fits_a_narrow_screen(visitor: Visitor, shade: str) -> None:
    page = visitor.page(f"{GROUP}?at=1", viewport=NARROW, color_scheme=shade)
    at(page, 1)
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert not violations(page)


def test_the_present_stays_the_present_when_another_one_ends(visitor: Visitor, console: Console) -> None:
    page = visitor.page(GROUP)
    expect(page.locator("#age")).to_have_attribute("data-state", "live")
    completed(console, "fourth")
    expect(page.locator("#scrub")).to_have_attribute("data-last", "4")
    expect(page.locator("#scrub output")).to_have_text("now")
    page.keyboard.press("[")
    expect(page.locator("#recorded h3").first).to_have_text("fourth joined.")
