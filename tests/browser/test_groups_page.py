"""The groups list in a browser: rows patched where they stand, nothing moves under a hand, the age is always told."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Route, WebSocketRoute, expect

from groups.keys import key_of
from groups.testing.feed import last_rebalance, member_view, offset_view, snapshot
from tests.support.browser import Console, Visitor, new_id

LIST = "/clusters/local/groups/"
SEEN = """hidden => {
  Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def row(page: Page, group_id: str):
    return page.locator(f'tr[data-key="{key_of(group_id)}"]')


def cell(page: Page, group_id: str, name: str):
    return row(page, group_id).locator(f'[data-cell="{name}"]')


def live(page: Page) -> Page:
    """Waits until the page is live."""
    expect(page.locator("#age")).to_have_attribute("data-state", "live")
    return page


def keys(page: Page) -> list[str]:
    return page.locator("#groups tbody tr").evaluate_all("rows => rows.map((row) => row.dataset.key)")


def with_lag(console: Console, group_id: str, topic: str, lag: int, **more) -> None:
    held = offset_view(1_000 - lag, log_start=0, log_end=1_000, last_stable=1_000)
    console.feed.group(snapshot(group_id, offsets={(topic, 0): held}, **more))


def test_a_row_is_patched_where_it_stands(visitor: Visitor, console: Console) -> None:
    name = new_id()
    console.feed.group(snapshot(name))
    page = live(visitor.page(f"{LIST}?search={name}"))
    row(page, name).evaluate("row => (row.marked = true)")
    console.feed.group(snapshot(name, members=[member_view("one-1", {"orders": [0]})]))
    expect(cell(page, name, "state")).to_have_text("Stable")
    expect(cell(page, name, "member_count")).to_have_text("1")
    expect(cell(page, name, "topics")).to_have_text("orders")
    assert row(page, name).evaluate("row => row.marked"), "the row was replaced"


def test_a_new_group_is_announced_and_comes_at_a_calm_moment(visitor: Visitor, console: Console) -> None:
    run = new_id("run")
    console.feed.group(snapshot(f"{run}-b"))
    page = live(visitor.page(f"{LIST}?search={run}"))
    row(page, f"{run}-b").hover()
    console.feed.group(snapshot(f"{run}-a"), "group_created")
    expect(page.locator("#changed-order")).to_contain_text("1 new")
    assert keys(page) == [f"{run}-b"], "nothing moves under the pointer"
    page.keyboard.press("r")
    expect(row(page, f"{run}-a")).to_be_visible()
    expect(page.locator("#changed-order")).to_be_hidden()
    assert keys(page) == [f"{run}-a", f"{run}-b"]


def test_an_order_that_no_longer_holds_waits_while_the_focus_is_in_the_table(
    visitor: Visitor, console: Console
) -> None:
    run, topic = new_id("run"), new_id("topic")
    for name, lag in (("a", 30), ("b", 20), ("c", 10)):
        with_lag(console, f"{run}-{name}", topic, lag)
    page = live(visitor.page(f"{LIST}?search={run}&ordering=-total_lag"))
    page.keyboard.press("j")
    expect(row(page, f"{run}-a").locator("a")).to_be_focused()
    with_lag(console, f"{run}-c", topic, 50)
    expect(cell(page, f"{run}-c", "total_lag")).to_have_text("50")
    expect(page.locator("#changed-order")).to_contain_text("1 row is out of order")
    assert keys(page) == [f"{run}-{name}" for name in "abc"]
    page.locator("#changed-order button").click()
    expect(page.locator("#groups tbody tr").first).to_have_attribute("data-key", f"{run}-c")


def test_a_group_that_is_gone_is_struck_out_first(visitor: Visitor, console: Console) -> None:
    name = new_id()
    console.feed.group(snapshot(name))
    page = live(visitor.page(f"{LIST}?search={name}"))
    row(page, name).hover()
    console.feed.gone(name)
    expect(row(page, name)).to_have_attribute("data-gone", "")
    expect(page.locator("#changed-order")).to_contain_text("1 gone")


def test_counters_follow_the_states(visitor: Visitor, console: Console) -> None:
    name = new_id()
    console.feed.group(snapshot(name))
    page = live(visitor.page(f"{LIST}?search={name}"))
    empty, rebalancing = (page.locator(f'#counters a[data-states~="{state}"] b') for state in ("Empty", "Assigning"))
    expect(empty).to_have_text("1")
    changed = snapshot(name, members=[member_view("one-1")], state="PreparingRebalance")
    console.feed.group(changed, before="Empty", after="PreparingRebalance")
    expect(empty).to_have_text("0")
    expect(rebalancing).to_have_text("1")


def test_search_narrows_while_one_types_and_stands_in_the_address(visitor: Visitor, console: Console) -> None:
    run = new_id("run")
    for name in ("orders", "bills"):
        console.feed.group(snapshot(f"{run}-{name}"))
    page = live(visitor.page(f"{LIST}?search={run}"))
    expect(page.locator("#groups tbody tr")).to_have_count(2)
    page.keyboard.press("/")
    page.keyboard.type(f"{run}-b")
    expect(page.locator("#groups tbody tr")).to_have_count(1)
    expect(page).to_have_url(re.compile(rf"search={run}-b$"))
    page.locator(".toggle input").check()
    expect(page).to_have_url(re.compile(rf"regex={run}-b$"))
    page.get_by_label("Search in group ids").fill(f"{run}-(")
    expect(page.locator("#listing")).to_contain_text("This question makes no sense")
    page.get_by_label("Search in group ids").fill(f"^{run}-o")
    expect(page.locator("#groups tbody tr")).to_have_count(1)


def test_a_filtered_view_stays_live_and_its_exports_follow(visitor: Visitor, console: Console) -> None:
    run = new_id("run")
    console.feed.group(snapshot(f"{run}-a"))
    page = live(visitor.page(f"{LIST}?search={run}"))
    page.get_by_label("Lag at least").fill("1")
    expect(page.locator("#listing")).to_contain_text("No group matches")
    assert "min_lag=1" in page.get_by_role("link", name="CSV").get_attribute("href")
    page.get_by_role("link", name="Clear filters").click()
    expect(page).to_have_url(re.compile(f"{LIST}$"))


def test_a_column_head_sorts_and_turns_round(visitor: Visitor, console: Console) -> None:
    run, topic = new_id("run"), new_id("topic")
    for name, lag in (("a", 1), ("b", 3), ("c", 2)):
        with_lag(console, f"{run}-{name}", topic, lag)
    page = live(visitor.page(f"{LIST}?search={run}"))
    page.get_by_role("link", name="Lag", exact=True).click()
    expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", "descending")
    assert keys(page) == [f"{run}-{name}" for name in "bca"]
    page.get_by_role("link", name="Lag", exact=True).click()
    expect(page.locator("th[aria-sort]")).to_have_attribute("aria-sort", "ascending")
    assert keys(page) == [f"{run}-{name}" for name in "acb"]


def test_the_age_is_told_and_a_cut_is_said_aloud(visitor: Visitor, console: Console) -> None:
    page = visitor.page("/tokens/")
    sockets: list[WebSocketRoute] = []

    def through(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        socket.connect_to_server()

    page.route_web_socket("**/ws/**", through)
    page.goto(console.url + LIST)
    live(page)
    expect(page.locator("#age")).to_have_text(re.compile(r"live, \d+\.\d s old"))
    page.route_web_socket("**/ws/**", lambda socket: socket.close())
    page.route(f"**{LIST}*", lambda route: route.abort())
    sockets[0].close()
    expect(page.locator("#cut-off")).to_be_visible()
    expect(page.locator("#cut-off")).to_contain_text("What you see is")
    expect(page.locator("#age")).to_have_attribute("data-state", "cut-off")


def test_a_page_without_a_socket_polls_and_says_so(visitor: Visitor, console: Console) -> None:
    name = new_id()
    console.feed.group(snapshot(name))
    page = visitor.page("/tokens/")
    page.route_web_socket("**/ws/**", lambda socket: socket.close())
    page.goto(f"{console.url}{LIST}?search={name}")
    expect(page.locator("#age")).to_have_attribute("data-state", "polling")
    expect(page.locator("#cut-off")).to_contain_text("asks again every 3 seconds")
    console.feed.group(snapshot(name, members=[member_view("one-1")]))
    expect(cell(page, name, "state")).to_have_text("Stable")


def test_a_console_that_is_away_is_told_while_polling(visitor: Visitor, console: Console) -> None:
    page = visitor.page("/tokens/")
    away = False

    def answer(route: Route) -> None:
        route.abort() if away else route.continue_()

    page.route_web_socket("**/ws/**", lambda socket: socket.close())
    page.route(f"**{LIST}*", answer)
    page.goto(f"{console.url}{LIST}?search=nobody")
    expect(page.locator("#age")).to_have_attribute("data-state", "polling")
    away = True
    expect(page.locator("#cut-off")).to_contain_text("The console does not answer")


def test_a_page_that_nobody_sees_rests_and_comes_back(visitor: Visitor, console: Console) -> None:
    name = new_id()
    console.feed.group(snapshot(name))
    page = visitor.page("/tokens/")
    page.clock.install()
    page.goto(f"{console.url}{LIST}?search={name}")
    live(page)
    page.evaluate(SEEN, True)
    page.clock.fast_forward(21_000)
    expect(page.locator("#age")).to_have_attribute("data-state", "paused")
    console.feed.group(snapshot(name, members=[member_view("one-1")]))
    page.evaluate(SEEN, False)
    live(page)
    expect(cell(page, name, "state")).to_have_text("Stable")


def test_times_are_shown_as_one_likes_with_their_zone(visitor: Visitor, console: Console) -> None:
    name = new_id()
    console.feed.group(snapshot(name, members=[member_view("one-1")], last_rebalance=last_rebalance()))
    page = live(visitor.page(f"{LIST}?search={name}", timezone_id="Asia/Kolkata"))
    time = cell(page, name, "last_rebalance").locator("time")
    expect(time).to_have_text(re.compile(r"now|\d+ s ago|\d\.\d s ago"))
    expect(time).to_have_attribute("title", re.compile(r"GMT\+5:30.* UTC\)$"))
    page.keyboard.press("t")
    expect(time).to_have_text(re.compile(r"^\d\d:\d\d:\d\d$"))
    page.keyboard.press("t")
    expect(time).to_have_text(re.compile(r"^\d\d:\d\d:\d\d UTC$"))


def test_lag_grows_without_any_event_of_the_group(visitor: Visitor, console: Console) -> None:
    run, topic = new_id(), new_id("topic")
    console.feed.topic(topic, (0, 1_000))
    console.feed.group(snapshot(run, offsets={(topic, 0): 990}))
    page = live(visitor.page(f"{LIST}?search={run}"))
    expect(cell(page, run, "total_lag")).to_have_text("10")
    page.locator(f'tr[data-key="{run}"]').evaluate("row => (row.marked = true)")
    console.feed.topic(topic, (0, 1_500))
    expect(cell(page, run, "total_lag")).to_have_text("510")
    assert page.locator(f'tr[data-key="{run}"]').evaluate("row => row.marked"), "the row was replaced"
