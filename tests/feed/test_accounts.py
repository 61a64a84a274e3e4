"""kaas.feed.accounts."""

from __future__ import annotations

from kaas.coordinator.announcements import (
    Cause,
    MemberChange,
    MembersChanged,
    RebalanceCompleted,
    RebalanceStarted,
    StateChanged,
)
from kaas.feed.accounts import MEMBERS, SAME_MOMENT_MS, Account
from kaas.feed.types import MemberPart

T = 1_000_000


def change(kind: str, member_id: str, instance_id: str | None = None) -> MemberChange:
    return MemberChange(
        kind=kind, member_id=member_id, instance_id=instance_id, client_id=f"client {member_id}", client_host="/h"
    )


def completed(started_at: int = T, before: tuple[str, ...] = (), after: tuple[str, ...] = ()) -> RebalanceCompleted:
    return RebalanceCompleted(
        started_at=started_at,
        ended_at=started_at + 900,
        phases=(("joining", 800), ("syncing", 100)),
        cause=Cause(kind="member_joined"),
        also=(),
        outcome="stable",
        generation_before=1,
        generation_after=2,
        before=dict.fromkeys(before, b""),
        after=dict.fromkeys(after, b""),
        members_before=len(before),
        members_after=len(after),
        protocol_type="consumer",
    )


def told(*rows: tuple[int, object]) -> Account:
    account = Account()
    for at, what in rows:
        account.note(T + at, what)  # type: ignore[arg-type]
    return account


STARTED = RebalanceStarted(cause=Cause(kind="member_joined"))
SYNCING = StateChanged(before="PreparingRebalance", after="CompletingRebalance")


def test_each_member_has_its_times() -> None:
    account = told(
        (0, change("member_joined", "new")),
        (0, STARTED),
        (200, MembersChanged(member_ids=("old",))),
        (500, change("member_left", "gone")),
        (800, SYNCING),
        (850, MembersChanged(member_ids=("new",))),
    )
    parts = {
        part.member_id: part for part in account.parts(completed(before=("old", "gone"), after=("old", "new")), {})
    }
    assert parts["new"] == MemberPart(member_id="new", name="client new", is_new=True, joined_ms=0, synced_ms=50 + 800)
    assert parts["old"] == MemberPart(member_id="old", name="", joined_ms=200)
    assert parts["gone"] == MemberPart(member_id="gone", name="client gone", gone_ms=500, gone="member_left")


def test_the_first_request_of_a_phase_counts() -> None:
    account = told((0, STARTED), (100, MembersChanged(member_ids=("a",))), (300, MembersChanged(member_ids=("a",))))
    assert account.parts(completed(), {"a": "name"}) == [MemberPart(member_id="a", name="name", joined_ms=100)]


def test_names_that_are_known_now_go_before_older_ones() -> None:
    account = told((0, change("member_joined", "a", instance_id="inst")), (0, STARTED))
    assert account.parts(completed(), {})[0].name == "inst"
    assert account.parts(completed(), {"a": "now"})[0].name == "now"


def test_what_was_before_the_rebalance_is_not_in_it() -> None:
    account = told((-SAME_MOMENT_MS - 1, change("member_left", "long ago")), (0, STARTED))
    assert account.parts(completed(), {}) == []


def test_the_request_that_ends_one_rebalance_begins_the_next() -> None:
    account = told((0, STARTED), (400, change("member_joined", "late")))
    account.end(T + 400)
    assert not account.is_empty
    account.note(T + 401, STARTED)
    assert account.parts(completed(T + 401), {})[0].joined_ms == 0


def test_nothing_is_kept_between_rebalances() -> None:
    account = told((0, STARTED), (100, change("member_joined", "a")))
    account.end(T + 100 + SAME_MOMENT_MS + 1)
    assert account.is_empty and account == Account()


def test_an_account_without_a_beginning_says_nothing() -> None:
    assert told((0, MembersChanged(member_ids=("a",)))).parts(completed(), {}) == []
    assert told((0, STARTED)).parts(completed(T + 5_000, before=("a",)), {}) == []


def test_a_change_that_names_nobody_is_nobodys() -> None:
    assert told((0, STARTED), (1, MembersChanged(member_ids=())), (1, MembersChanged(member_ids=None))).came == {}


def test_it_is_bounded() -> None:
    before = tuple(f"m{n}" for n in range(MEMBERS + 1))
    assert len(told((0, STARTED)).parts(completed(before=before), {})) == MEMBERS
