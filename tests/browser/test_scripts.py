"""The scripts' pure parts, in a real browser: what server and browser both write must be the same, and the timeline's model.

Modules are imported from the console as a page does it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Page

from groups.changes import changes, merged
from groups.templatetags import console as tags
from groups.views.phase import phase_words
from tests.support.browser import Visitor

START = datetime(2026, 11, 29, 14, 3, 0, tzinfo=UTC)
START_MS = int(START.timestamp() * 1_000)


def iso(offset_ms: int) -> str:
    """A moment so many milliseconds after START."""
    return datetime.fromtimestamp((START_MS + offset_ms) / 1_000, UTC).isoformat(timespec="milliseconds")


@pytest.fixture(scope="module")
def page(_visitor: Visitor) -> Iterator[Page]:
    """Any page of the console; nothing here changes it."""
    yield _visitor.stranger("/login/")
    _visitor.leave()


def call(page: Page, module: str, function: str, *arguments: Any) -> Any:
    """What a function of a module answers."""
    script = "async ([url, name, given]) => (await import(url))[name](...given)"
    return page.evaluate(script, [f"/static/js/{module}.js", function, list(arguments)])


# The same words on both sides

IDS = ["orders", "", " a ", "a\nb\tc", "\x00\x1b", "a\u200bb", "\u202eevil", "👩\u200d🚀 é", "  ", "\x7f", "<b>&"]


@pytest.mark.parametrize("id_", IDS)
def test_ids_look_the_same(page: Page, id_: str) -> None:
    assert call(page, "formats", "visible", id_) == tags.visible(id_)


@pytest.mark.parametrize("value", [0, 7, 1_204, 2**53 + 1, -3, None])
def test_numbers_look_the_same(page: Page, value: int | None) -> None:
    sent = str(value) if value is not None and value > 2**53 else value
    assert call(page, "formats", "number", sent) == tags.number(value)


def test_durations_look_the_same(page: Page) -> None:
    dice = random.Random(5)
    values = [0, 999, 1_000, 9_999, 10_000, 119_999, 120_000, 7_199_999, 7_200_000, 172_800_000, 10**12]
    values += [dice.randrange(10 ** dice.randrange(1, 11)) for _ in range(200)]
    script = "async (values) => { const m = await import('/static/js/formats.js'); return values.map(m.duration); }"
    assert page.evaluate(script, values) == [tags.duration(value) for value in values]


@pytest.mark.parametrize("partitions", [[], [3], [0, 1, 2], [7, 0, 2, 1, 5], list(range(50))])
def test_ranges_look_the_same(page: Page, partitions: list[int]) -> None:
    assert call(page, "formats", "ranges", partitions) == tags.ranges(partitions)


def test_moves_are_grouped_the_same(page: Page) -> None:
    dice = random.Random(6)
    who = ["a-1", "b-2", None]
    moved = [
        {
            "topic": dice.choice(["orders", "mail"]),
            "partition": n,
            "from": dice.choice(who),
            "to": dice.choice(who),
            "without_ms": dice.choice([None, 0, 120, 4_500]),
        }
        for n in range(40)
    ]
    mine = sorted(call(page, "formats", "moves", moved), key=str)
    assert mine == sorted(tags.moves(moved), key=str)


PART = {"topic": "orders", "partitions": [0, 1, 5]}
HELD = [{**PART, "member_id": f"m-{n}", "name": f"m {n} "} for n in range(5)]


@pytest.mark.parametrize(
    "given",
    [
        {"gives_up": [], "waits_for": [], "gets": []},
        {"gives_up": [PART], "waits_for": HELD[:1], "gets": [PART, {**PART, "topic": "mail"}]},
        {"gives_up": [], "waits_for": HELD, "gets": []},
    ],
)
def test_what_a_member_has_still_to_do_is_worded_the_same(page: Page, given: dict[str, Any]) -> None:
    assert call(page, "formats", "steps", given) == tags.steps(given)


@pytest.mark.parametrize("newest", [None, 7, 9])
@pytest.mark.parametrize("classic", [None, 0, 1])
def test_epochs_and_mixed_groups_are_worded_the_same(page: Page, newest: int | None, classic: int | None) -> None:
    of = {"group_epoch": newest, "classic_member_count": classic, "member_count": 2_000}
    for epoch in (7, -2):
        assert call(page, "formats", "epochOf", {"epoch": epoch}, of) == tags.epoch_of({"epoch": epoch}, of)
    assert call(page, "formats", "mixed", of) == tags.mixed(of)


def member(member_id: str, **more: Any) -> dict[str, Any]:
    values = {
        "member_id": member_id,
        "instance_id": None,
        "client_id": member_id.split("-")[0],
        "host": "/10.0.0.1",
        "state": "stable",
        "is_leader": False,
        "assignment": [],
        "gives_up": [],
        "gets": [],
        "waits_for": [],
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 300_000,
        "last_heartbeat_at": iso(0),
        "joined_at": iso(-600_000),
    }
    return {**values, **more}


def group(*members: dict[str, Any], **more: Any) -> dict[str, Any]:
    values = {
        "state": "Stable",
        "member_count": len(members),
        "members": list(members),
        "phase": {"name": "stable", "since": iso(0), "waiting_for": [], "waiting_count": 0},
        "rebalance": None,
    }
    return {**values, **more}


def waiting(*who: tuple[str | None, str, int], name: str = "joining", count: int | None = None) -> dict[str, Any]:
    rows = [
        {"member_id": member_id, "client_id": None, "timer": timer, "deadline": iso(at)} for member_id, timer, at in who
    ]
    phase = {"name": name, "since": iso(0), "waiting_for": rows, "waiting_count": count or len(rows)}
    return {"phase": phase, "rebalance": {"started_at": iso(0), "cause_text": "a joined."}}


PHASES = {
    "stable": group(member("a-1")),
    "empty": group(state="Empty"),
    "strange": group(state="Thinking"),
    "initial delay": group(member("a-1"), **waiting((None, "initial_delay", 3_000))),
    "a silent one": group(member("a-1"), member("b-1"), **waiting(("b-1", "rebalance", 300_000))),
    "a slow one": group(member("a-1", session_timeout_ms=900_000), **waiting(("a-1", "rebalance", 300_000))),
    "several": group(
        member("a-1"), member("b-1"), **waiting(("a-1", "rebalance", 9_000), ("b-1", "rebalance", 5_000), count=12)
    ),
    "a pending id": group(member("a-1"), **waiting(("c-9", "pending_member", 4_000))),
    "the leader": group(member("a-1"), **waiting(("a-1", "sync", 4_000), name="syncing")),
    "everybody came": group(member("a-1"), **waiting()),
    "no target yet": group(member("a-1"), state="Assigning", **waiting(name="assigning")),
    "one that holds on": group(
        member("a-1", gives_up=[{"topic": "orders", "partitions": [3, 4]}]),
        member("b-1"),
        **waiting(("a-1", "revocation", 300_000), ("b-1", "heartbeat", 45_000), name="reconciling"),
    ),
    "one that is not told yet": group(member("a-1"), **waiting(("a-1", "heartbeat", 9_000), name="reconciling")),
    "all take over": group(member("a-1"), state="Reconciling", **waiting(name="reconciling")),
    "one that is away": group(
        member("a-1"), state="Reconciling", **waiting(("a-1", "away", 9_000)) | {"rebalance": None}
    ),
    "a timer of tomorrow": group(member("a-1"), **waiting(("a-1", "moon", 4_000))),
}


@pytest.mark.parametrize("described", PHASES.values(), ids=PHASES)
def test_phases_are_worded_the_same(page: Page, described: dict[str, Any]) -> None:
    words = call(page, "phase_text", "phaseWords", described)
    mine = phase_words(described)
    assert (words["head"], words["text"]) == (mine.head, mine.text)
    until = None if mine.until is None else datetime.fromisoformat(mine.until).timestamp() * 1_000
    assert words["until"] == until


def test_a_difference_is_applied_as_the_server_means_it(page: Page) -> None:
    dice = random.Random(7)

    def described() -> dict[str, Any]:
        names = dice.sample(["a-1", "b-1", "c-1", "d-1"], dice.randrange(5))
        rows = [member(name, state=dice.choice(["stable", "joining"]), last_heartbeat_at=None) for name in names]
        more = {"total_lag_str": "9007199254740993"} if dice.random() < 0.5 else {}
        return {**group(*sorted(rows, key=lambda row: row["member_id"])), "total_lag": dice.randrange(9), **more}

    pairs = [(described(), described()) for _ in range(100)]
    script = """async (pairs) => {
      const { merged } = await import('/static/js/description.js');
      return pairs.map(([held, changes]) => merged(held, changes));
    }"""
    differences = [(before, changes(before, after)) for before, after in pairs]
    assert page.evaluate(script, differences) == [merged(before, change) for before, change in differences]
    assert [after for _, after in pairs] == [merged(before, change) for before, change in differences]


def test_rows_out_of_order_are_counted(page: Page) -> None:
    items = [{"total_lag": lag} for lag in (5, 9, None, 3)]
    assert call(page, "group_rows", "outOfOrder", items, "total_lag", False) == 1
    assert call(page, "group_rows", "outOfOrder", items, "total_lag", True) == 2
    assert (
        call(page, "group_rows", "outOfOrder", [{"total_lag": lag} for lag in (9, 5, 5, None)], "total_lag", True) == 0
    )


# A socket

LEFT_WHILE_OPENING = """async () => {
  const { follow } = await import('/static/js/live.js');
  const real = window.WebSocket;
  const ends = [];
  let opening = null;
  window.WebSocket = class { readyState = 0; constructor() { opening = this; } close() { ends.push(this.readyState); } };
  window.WebSocket.CONNECTING = 0;
  follow({ path: 'ws/none/', onMessage: () => {}, poll: async () => 0 }).close();
  const before = [...ends];
  opening.readyState = 1;
  opening.onopen();
  window.WebSocket = real;
  return [before, ends];
}"""


def test_a_socket_left_while_it_opens_ends_once_it_is_open(page: Page) -> None:
    # Browsers write an error for one that is closed before it is established.
    assert page.evaluate(LEFT_WHILE_OPENING) == [[], [1]]


# The timeline's model

MODEL = """async ([steps, until]) => {
  const { LanesModel, kindNow, silentMs, crowdAt } = await import('/static/js/lanes_model.js');
  const model = new LanesModel();
  for (const [name, ...given] of steps) model[name](...given);
  const lanes = [...model.lanes.values()];
  return {
    lanes: lanes.map((lane) => ({
      ...lane, kind: kindNow(lane, until), silent: silentMs(lane, until),
      shown: lane.segments.map((one) => [one.kind, one.from]), earlier: lane.earlier.map((one) => one.id),
      past: lane.earlier.map((one) => [one.id, one.outcome, one.silences]),
    })),
    spans: model.spans, generations: model.generations, crowd: crowdAt(lanes, until),
  };
}"""


def model(page: Page, *steps: tuple[Any, ...], until: int) -> dict[str, Any]:
    return page.evaluate(MODEL, [[list(step) for step in steps], START_MS + until])


def at(offset_ms: int) -> int:
    return START_MS + offset_ms


def test_a_member_goes_through_its_states(page: Page) -> None:
    seen = model(
        page,
        ("begin", group(member("a-1")), [], at(0)),
        ("update", group(member("a-1", state="missing"), **waiting()), at(1_000)),
        ("update", group(member("a-1", state="joining"), **waiting()), at(2_000)),
        ("update", group(member("a-1", state="syncing"), **waiting(name="syncing")), at(3_000)),
        ("update", group(member("a-1")), at(4_000)),
        until=5_000,
    )
    (lane,) = seen["lanes"]
    kinds = [kind for kind, _ in lane["shown"]]
    assert kinds == ["stable", "missing", "joining", "syncing", "stable"]
    assert [since - START_MS for _, since in lane["shown"]][1:] == [1_000, 2_000, 3_000, 4_000]
    assert seen["spans"] == [{"from": at(0), "to": at(4_000), "cause": "a joined."}]


def test_a_member_of_a_consumer_group_lets_go_or_waits_and_beats_all_the_while(page: Page) -> None:
    orders = {"topic": "orders", "partitions": [1]}
    gives, waits = {"gives_up": [orders]}, {"waits_for": [{**orders, "member_id": "a-1", "name": "a"}]}
    seen = model(
        page,
        ("begin", group(member("a-1"), member("b-1")), [], at(0)),
        ("update", group(member("a-1", state="revoking", **gives), member("b-1", state="behind")), at(1_000)),
        ("update", group(member("a-1", state="revoking", **gives), member("b-1", state="waiting", **waits)), at(2_000)),
        ("update", group(member("a-1", state="revoking", **gives), member("b-1", state="stable")), at(3_000)),
        until=20_000,
    )
    lanes = {lane["name"]: lane for lane in seen["lanes"]}
    assert [kind for kind, _ in lanes["a"]["shown"]] == ["stable", "revoking"]
    assert [kind for kind, _ in lanes["b"]["shown"]] == ["stable", "missing", "waiting", "stable"]
    assert lanes["a"]["kind"] == "silent", "who holds on to partitions owes heartbeats"


def test_a_member_that_is_not_heard_is_silent_since_its_last_heartbeat(page: Page) -> None:
    steps = [("begin", group(member("a-1"), member("b-1")), [], at(0)), ("beat", {"a-1": iso(6_000)})]
    seen = model(page, *steps, until=7_000)
    silent = {lane["name"]: lane["silent"] for lane in seen["lanes"]}
    assert silent == {"a": None, "b": 7_000}


def test_a_parked_member_owes_no_heartbeat(page: Page) -> None:
    joining = group(member("a-1", state="joining"), **waiting())
    seen = model(page, ("begin", group(member("a-1")), [], at(0)), ("update", joining, at(1_000)), until=60_000)
    assert seen["lanes"][0]["silent"] is None and seen["lanes"][0]["kind"] == "joining"


def test_a_silence_that_ended_stays_on_the_lane(page: Page) -> None:
    seen = model(
        page,
        ("begin", group(member("a-1")), [], at(0)),
        ("beat", {"a-1": iso(1_000)}),
        ("beat", {"a-1": iso(9_000)}),
        until=9_500,
    )
    assert seen["lanes"][0]["silences"] == [{"from": at(1_000), "to": at(9_000)}] and seen["lanes"][0]["silent"] is None


def test_an_expired_member_ends_and_one_of_its_name_goes_on_in_its_lane(page: Page) -> None:
    expired = {"kind": "member_expired", "member_id": "b-1", "silent_ms": 10_000}
    seen = model(
        page,
        ("begin", group(member("a-1"), member("b-1")), [], at(0)),
        ("note", expired, at(10_000)),
        ("update", group(member("a-1")), at(10_000)),
        ("update", group(member("a-1"), member("b-2", joined_at=iso(15_000), state="joining")), at(15_000)),
        until=16_000,
    )
    lanes = {lane["id"]: lane for lane in seen["lanes"]}
    assert set(lanes) == {"a-1", "b-2"} and lanes["b-2"]["earlier"] == ["b-1"]


def test_a_reason_that_comes_after_the_member_is_gone_still_counts(page: Page) -> None:
    expired = {"kind": "member_expired", "member_id": "b-1", "silent_ms": 4_000}
    seen = model(
        page,
        ("begin", group(member("b-1")), [], at(0)),
        ("update", group(), at(10_000)),
        ("update", group(member("b-2", joined_at=iso(11_000))), at(11_000)),
        ("note", expired, at(10_000)),
        until=12_000,
    )
    (lane,) = seen["lanes"]
    assert lane["past"] == [["b-1", "expired", [{"from": at(6_000), "to": at(10_000)}]]]


def test_two_of_one_name_that_live_at_once_keep_two_lanes(page: Page) -> None:
    seen = model(page, ("begin", group(member("a-1"), member("a-2")), [], at(0)), until=1_000)
    assert len(seen["lanes"]) == 2


def test_what_was_before_the_page_is_told_by_finished_rebalances(page: Page) -> None:
    past = {
        "started_at": iso(-20_000),
        "ended_at": iso(-18_000),
        "phases": [{"name": "joining", "duration_ms": 1_500}, {"name": "syncing", "duration_ms": 500}],
        "cause": "session_expired",
        "cause_text": "b was silent.",
        "member_id": "b-1",
        "detail": {"client_id": "b", "silent_ms": 10_000},
        "also": [],
        "generation_after": 42,
        "kind": "classic",
    }
    seen = model(page, ("begin", group(member("a-1")), [past], at(0)), until=0)
    lanes = {lane["name"]: lane for lane in seen["lanes"]}
    assert [kind for kind, _ in lanes["a"]["shown"]] == ["stable", "joining", "syncing", "stable"]
    assert lanes["b"]["outcome"] == "expired" and lanes["b"]["to"] == at(-20_000)
    assert lanes["b"]["silences"] == [{"from": at(-30_000), "to": at(-20_000)}]
    assert seen["generations"] == [{"at": at(-18_000), "generation": 42, "kind": "classic"}]


def test_what_is_too_old_is_forgotten(page: Page) -> None:
    hour = 3_600_000
    steps = [("begin", group(member("a-1"), member("b-1")), [], at(0)), ("update", group(member("a-1")), at(1_000))]
    steps += [("update", group(member("a-1", state="missing"), **waiting()), at(hour))]
    seen = model(page, *steps, ("update", group(member("a-1")), at(2 * hour)), until=2 * hour)
    assert [lane["name"] for lane in seen["lanes"]] == ["a"] and len(seen["lanes"][0]["segments"]) <= 2


def test_a_crowd_is_counted_by_what_it_does(page: Page) -> None:
    many = [member(f"m{n}-1", state="missing" if n < 3 else "joining") for n in range(500)]
    seen = model(page, ("begin", group(*many, **waiting()), [], at(0)), until=100)
    assert seen["crowd"] == {"missing": 3, "joining": 497}
