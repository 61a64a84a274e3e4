"""A group's page in a browser: what the broker tells is seen at once, in the timeline, the banner and the tables."""

from __future__ import annotations

import re
from typing import Any

import msgspec
from playwright.sync_api import Page, expect

from groups.testing.feed import last_rebalance, member_view, offset_view, rebalance_record, snapshot
from groups.times import now_ms
from kaas.feed.types import RebalanceView
from tests.support.browser import NARROW, Console, Visitor, new_id

MANY = 500


def opened(visitor: Visitor, console: Console, group_id: str, **options: Any) -> Page:
    """A group's page that is live."""
    page = visitor.page(console.address(group_id), **options)
    expect(page.locator("#age")).to_have_attribute("data-state", "live")
    return page


def running(*awaited: str, phase: str = "joining", timer: str = "rebalance", left_ms: int = 300_000) -> RebalanceView:
    now = now_ms()
    rows = [{"member_id": one, "client_id": None, "timer": timer, "deadline_at": now + left_ms} for one in awaited]
    values = {
        "started_at": now - 1_000,
        "cause": "member_joined",
        "member_id": "two-1",
        "detail": {"client_id": "two"},
        "also": [],
        "phase": phase,
        "phase_since": now - 1_000,
        "phases": [],
        "waiting_for": rows,
        "waiting_count": len(rows),
        "generation_before": 1,
        "members_before": 1,
    }
    return msgspec.convert(values, RebalanceView)


def lane(page: Page, member_id: str):
    return page.locator(f'.lane[data-member="{member_id}"]')


def test_a_rebalance_is_seen_from_its_cause_to_what_it_moved(visitor: Visitor, console: Console) -> None:
    name = new_id()
    one, two = member_view("one-1", {"orders": [0, 1]}), member_view("two-1", state="joining")
    console.feed.group(snapshot(name, members=[one]))
    page = opened(visitor, console, name)
    expect(page.locator("#phase")).to_contain_text("The group waits for nobody.")
    expect(lane(page, "one-1")).to_contain_text("orders 0–1")

    missing = msgspec.structs.replace(one, state="missing")
    preparing = {"state": "PreparingRebalance", "members": [missing, two], "rebalance": running("one-1")}
    console.feed.group(snapshot(name, **preparing), "member_joined", member_id="two-1", client_id="two")
    expect(page.locator("#phase")).to_contain_text("Waiting for 1 of 2 to rejoin")
    expect(page.locator("#phase")).to_contain_text("one is silent, and is removed when its session of 45 s ends.")
    expect(page.locator("#phase")).to_contain_text(re.compile(r"for \d+\.\d s, \d+\.\d s left"))
    expect(page.locator("#phase")).to_contain_text("Began because: two joined.")
    expect(lane(page, "two-1")).to_contain_text("new, joining")
    expect(lane(page, "one-1").locator("rect").last).to_have_class("seg-missing")
    expect(lane(page, "two-1").locator("rect")).to_have_class(["seg-joining"])
    expect(page.locator('[data-fact="state"]')).to_have_text("PreparingRebalance")

    both = [member_view("one-1", {"orders": [0]}), member_view("two-1", {"orders": [1]})]
    ended = snapshot(name, members=both, generation=2, last_rebalance=last_rebalance())
    console.feed.group(ended, "rebalance_completed", rebalance=rebalance_record())
    expect(page.locator("#phase")).to_have_attribute("data-phase", "calm")
    expect(page.locator("#moved")).to_contain_text("1 moved, 1 kept in generation 2")
    expect(page.locator("#moved")).to_contain_text(re.compile(r"orders\s+1\s+one\s+→\s+to\s+two"))
    expect(page.locator(".generation-label")).to_have_text([re.compile("2$")])
    expect(lane(page, "two-1")).to_contain_text("orders 1")
    expect(page.locator('[data-fact="generation"]')).to_have_text("2")
    expect(page.locator("#members tbody tr")).to_have_count(2)


def test_a_silent_member_is_seen_to_fall_silent_and_to_expire(visitor: Visitor, console: Console) -> None:
    name = new_id()
    quiet = member_view("mute-1", session_timeout_ms=10_000, last_heartbeat_at=now_ms() - 7_000)
    console.feed.group(snapshot(name, members=[member_view("one-1"), quiet]))
    page = opened(visitor, console, name)
    expect(lane(page, "mute-1")).to_contain_text(re.compile(r"silent for \d+\.\d s"))
    expect(lane(page, "mute-1").locator(".seg-silent")).to_have_count(1)
    expect(page.locator('#members tr[data-key="mute-1"] .beat')).to_have_attribute("data-late", "")
    expired = {"member_id": "mute-1", "silent_ms": 10_000, "timeout_ms": 10_000}
    console.feed.group(snapshot(name, members=[member_view("one-1")]), "member_expired", **expired)
    expect(lane(page, "mute-1")).to_contain_text("session expired")
    expect(lane(page, "mute-1").locator("rect").last).to_have_class("end-expired")
    expect(page.locator("#members tbody tr")).to_have_count(1)


def test_heartbeats_keep_a_member_from_looking_silent(visitor: Visitor, console: Console) -> None:
    name = new_id()
    old = member_view("one-1", session_timeout_ms=100_000, last_heartbeat_at=now_ms() - 80_000)
    console.feed.group(snapshot(name, members=[old]))
    page = opened(visitor, console, name)
    expect(lane(page, "one-1")).to_contain_text("silent for")
    console.feed.pulse({name: {"one-1": now_ms()}})
    expect(lane(page, "one-1")).to_contain_text("no partitions")


def test_five_hundred_members_read_at_a_glance(visitor: Visitor, console: Console) -> None:
    name = new_id()
    calm = [member_view(f"m{n:03d}-1") for n in range(MANY)]
    console.feed.group(snapshot(name, members=calm))
    page = opened(visitor, console, name)
    expect(page.locator("[data-crowd]")).to_contain_text("500 stable")
    expect(page.locator(".lanes-more")).to_contain_text("Every member is stable.")
    expect(page.locator(".lane")).to_have_count(0)

    stirred = [member_view(f"m{n:03d}-1", state="missing" if n in (7, 9) else "joining") for n in range(MANY)]
    console.feed.group(
        snapshot(name, members=stirred, state="PreparingRebalance", rebalance=running("m007-1", "m009-1")),
        "rebalance_started",
    )
    expect(page.locator("#phase")).to_contain_text("Waiting for 2 of 500 to rejoin")
    expect(page.locator(".lane").first).to_contain_text("awaited")
    assert {one.split("-")[0] for one in shown_lanes(page)[:2]} == {"m007", "m009"}
    page.get_by_role("button", name="Show all 500").click()
    expect(page.locator(".lane").nth(9)).to_be_visible()
    rows = page.locator(".lanes-rows")
    for top, member in ((7_000, "m240-1"), (0, "m007-1"), (15_000, "m499-1")):  # each scrolling places the lanes anew
        rows.evaluate("(rows, top) => (rows.scrollTop = top)", top)
        expect(lane(page, member)).to_be_visible()
        assert page.locator(".lane").count() < 60, "only lanes that can be seen are in the document"
        high = rows.evaluate("rows => [rows.clientHeight, rows.scrollHeight, rows.querySelector('.lane').offsetHeight]")
        assert high[0] <= 512 and high[1] == MANY * high[2], "the others are room to scroll through"


def shown_lanes(page: Page) -> list[str]:
    return page.locator(".lane").evaluate_all("lanes => lanes.map((lane) => lane.dataset.member)")


def test_offsets_follow_the_commits_and_keep_their_states_apart(visitor: Visitor, console: Console) -> None:
    name, topic = new_id(), new_id("topic")
    console.feed.topic(topic, (5, 10), (0, 0))
    offsets = {(topic, 0): 2, (topic, 1): 0}
    console.feed.group(snapshot(name, offsets=offsets))
    page = opened(visitor, console, name)
    first = page.locator(f'#offsets tr[data-key="{topic}/0"]')
    expect(first.locator('[data-cell="state"]')).to_have_text(
        re.compile(r"Committed before the log's start\s+3 records lost"), use_inner_text=True
    )
    expect(page.locator(f'#offsets tr[data-key="{topic}/1"]')).to_contain_text("Empty partition")
    first.evaluate("row => (row.marked = true)")
    console.feed.group(snapshot(name, offsets={**offsets, (topic, 0): 8}), "offsets_committed", topics=[topic])
    expect(first.locator('[data-cell="committed"]')).to_have_text("8")
    expect(first.locator('[data-cell="lag"]')).to_have_text("2")
    expect(first.locator('[data-cell="state"]')).to_contain_text("Lagging")
    assert first.evaluate("row => row.marked"), "the row was replaced"


def test_actions_change_with_the_state(visitor: Visitor, console: Console) -> None:
    name = new_id()
    console.feed.group(snapshot(name))
    page = opened(visitor, console, name)
    delete = page.locator('[data-action="delete"]')
    expect(delete).to_have_attribute("href", re.compile("/delete/$"))
    console.feed.group(snapshot(name, members=[member_view("one-1")]))
    expect(delete).to_have_attribute("aria-disabled", "true")
    expect(page.locator("[data-blocked]")).to_contain_text("The group is Stable with 1 live member (one)")
    delete.focus()
    expect(page.locator("#why-delete")).to_be_visible()


def test_topics_tell_how_many_members_read_them(visitor: Visitor, console: Console) -> None:
    name = new_id()
    one, two = member_view("one-1", {"orders": [0]}), member_view("two-1", {"bills": [0], "orders": [1]})
    console.feed.group(snapshot(name, members=[one], offsets={("orders", 0): 1}))
    page = opened(visitor, console, name)
    topics, uncommitted = page.locator('[data-fact="topics"]'), page.locator('[data-fact="uncommitted"]')
    expect(topics).to_have_text("orders (1)")
    expect(uncommitted).to_be_hidden()
    console.feed.group(snapshot(name, members=[one, two], offsets={("orders", 0): 1}), "member_joined")
    expect(topics).to_have_text("bills (1), orders (2)")
    expect(uncommitted).to_have_text("2")
    console.feed.group(snapshot(name, offsets={("orders", 0): 1}), "member_left")
    expect(topics).to_have_text("orders")
    expect(uncommitted).to_be_hidden()


def test_a_group_that_goes_says_so_and_comes_back_by_itself(visitor: Visitor, console: Console) -> None:
    name = new_id()
    console.feed.group(snapshot(name))
    page = opened(visitor, console, name)
    console.feed.gone(name)
    expect(page.get_by_role("heading", name="There is no such group on local")).to_be_visible()
    expect(page.locator("#age")).to_have_attribute("data-state", "live")
    console.feed.group(snapshot(name), "group_created")
    expect(page.locator('[data-fact="state"]')).to_have_text("Empty")


def test_what_an_attacker_names_stays_text(visitor: Visitor, console: Console) -> None:
    name = f"<img src=x onerror=alert(1)>{new_id()}"
    evil = member_view("<b>m</b>-1", {"orders": [0]}, client_id="<script>1</script>", client_host="<i>h</i>")
    console.feed.group(snapshot(name))
    page = opened(visitor, console, name)
    odd = offset_view(1, metadata="</td><script>alert(1)</script>", log_start=0, log_end=1)
    console.feed.group(snapshot(name, members=[evil], offsets={("orders", 0): odd}), "member_joined")
    expect(page.locator("#members .name")).to_have_text("<script>1</script>")
    expect(page.locator(".lane-name b")).to_have_text("<script>1</script>")
    assert page.locator("main script:not([type]), main img, main i:not(.mark), main b b").count() == 0


def test_the_lanes_show_their_newest_part_on_a_narrow_screen(visitor: Visitor, console: Console) -> None:
    name = new_id()
    console.feed.group(snapshot(name, members=[member_view("one-1", {"orders": [0]})]))
    page = opened(visitor, console, name, viewport=NARROW)
    expect(lane(page, "one-1")).to_contain_text("orders 0")
    box = lane(page, "one-1").locator("svg").bounding_box()
    assert box is not None and box["width"] > 300 and box["x"] + box["width"] <= NARROW["width"]


def test_the_phase_is_said_politely_once(visitor: Visitor, console: Console) -> None:
    name = new_id()
    console.feed.group(snapshot(name, members=[member_view("one-1")]))
    page = opened(visitor, console, name)
    said = page.locator("#lanes-said")
    expect(said).to_have_text("Stable. The group waits for nobody.")
    said.evaluate(
        "one => { one.times = 0; new MutationObserver(() => one.times++).observe(one, { childList: true }); }"
    )
    for committed in range(3):
        console.feed.group(snapshot(name, members=[member_view("one-1")], offsets={("t", 0): committed}))
    expect(page.locator("#group")).to_have_attribute("data-shown", re.compile("20"))
    assert said.evaluate("one => one.times") == 0
