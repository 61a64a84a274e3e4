"""groups.views.recorded."""

from __future__ import annotations

from groups.views.recorded import LANES_SHOWN, Scrub, recorded


def part(member_id: str, **more) -> dict:
    values = {"name": member_id, "is_new": False, "joined_ms": None, "synced_ms": None, "gone_ms": None, "gone": None}
    return {"member_id": member_id, **values, **more}


def row(*parts: dict) -> dict:
    phases = [{"name": "joining", "duration_ms": 800}, {"name": "syncing", "duration_ms": 200}]
    return {"kind": "classic", "duration_ms": 1_000, "phases": phases, "parts": list(parts)}


def drawn(one: dict) -> list[tuple[str, str, str]]:
    (lane,) = recorded(row(one)).lanes
    return [(segment.kind, segment.x, segment.width) for segment in lane.segments]


def test_a_member_that_comes_back_is_awaited_then_joins_then_syncs():
    assert drawn(part("a", joined_ms=300)) == [
        ("missing", "0.00", "30.00"),
        ("joining", "30.00", "50.00"),
        ("syncing", "80.00", "20.00"),
    ]


def test_nobody_waits_for_a_newcomer():
    assert drawn(part("a", is_new=True, joined_ms=300))[0] == ("joining", "30.00", "50.00")
    assert recorded(row(part("a", is_new=True, joined_ms=300))).waited == ()


def test_a_member_that_goes_ends_its_lane():
    (lane,) = recorded(row(part("a", gone_ms=500, gone="member_expired"))).lanes
    assert [(one.kind, one.width) for one in lane.segments] == [("missing", "50.00")]
    assert (lane.end, lane.end_x, lane.note) == ("expired", "50.00", "was removed after 500 ms")


def test_it_says_whom_the_group_waited_for_and_how_long():
    found = recorded(
        row(
            part("quick", joined_ms=0),
            part("slow", joined_ms=700),
            part("dead", gone_ms=900, gone="member_expired"),
            part("left", gone_ms=0, gone="member_left"),
            part("new", is_new=True, joined_ms=0),
        )
    )
    assert found.waited == ("dead, which was removed after 900 ms", "slow, which came back after 700 ms")
    assert [lane.name for lane in found.lanes] == ["dead", "slow", "left", "quick", "new"]
    assert [lane.name for lane in found.lanes if lane.is_longest] == ["dead"]
    assert [lane.note for lane in found.lanes][2:] == ["left", "came back at once", "joined"]


def test_in_a_consumer_group_a_member_is_awaited_until_it_let_go_and_waits_until_it_has_all():
    giver, taker = part("giver", joined_ms=300, synced_ms=300), part("taker", is_new=True, joined_ms=0, synced_ms=400)
    stuck = part("stuck", gone_ms=1_000, gone="member_expired")
    found = recorded({**row(giver, taker, stuck), "kind": "consumer", "phases": []})
    kinds = {lane.name: [(one.kind, one.width) for one in lane.segments] for lane in found.lanes}
    assert kinds == {
        "stuck": [("missing", "100.00")],
        "giver": [("missing", "30.00"), ("stable", "70.00")],
        "taker": [("waiting", "40.00"), ("stable", "60.00")],
    }
    assert [lane.note for lane in found.lanes] == [
        "was removed after 1 s",
        "let go after 300 ms",
        "joined, done after 400 ms",
    ]
    assert found.waited == ("stuck, which was removed after 1 s", "giver, which let go after 300 ms")


def test_one_that_stayed_away_and_was_kept_says_so():
    assert recorded(row(part("static"))).lanes[0].note == "did not come back"


def test_a_member_without_a_name_has_its_id():
    assert recorded(row(part("x", name=""))).lanes[0].name == "x"


def test_many_lanes_are_bounded():
    found = recorded(row(*(part(f"m{n}", joined_ms=n) for n in range(LANES_SHOWN + 5))))
    assert (len(found.lanes), found.hidden) == (LANES_SHOWN, 5)


def test_a_rebalance_that_was_not_followed_has_no_lanes():
    assert recorded({**row(), "phases": [], "duration_ms": 0}).lanes == ()


def test_the_scrubber_ends_at_both_ends():
    now, last, first = (Scrub(first=3, last=7, at=at) for at in (None, 7, 3))
    assert (now.older, now.newer, now.place) == (7, None, 8)
    assert (last.older, last.newer, last.place) == (6, None, 7)
    assert (first.older, first.newer, first.end) == (None, 4, 8)
