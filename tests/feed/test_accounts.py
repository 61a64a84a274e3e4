"""kaas.feed.accounts."""

from __future__ import annotations

import msgspec

from kaas.coordinator.announcements import (
    Cause,
    MemberChange,
    MemberProgressed,
    MembersChanged,
    RebalanceCompleted,
    RebalanceStarted,
    StateChanged,
)
from kaas.feed.accounts import MEMBERS, PARTITIONS, SAME_MOMENT_MS, Account
from kaas.feed.types import MemberPart, MovedPartition

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


def move(partition: int, giver: str | None, taker: str | None) -> MovedPartition:
    return MovedPartition(topic="t", partition=partition, from_member=giver, to_member=taker)


def without(account: Account, *moves: MovedPartition, eager: bool = True) -> dict[int, int | None]:
    return {told.partition: told.without_ms for told in account.moved(completed(), moves, eager=eager)}


def test_an_eager_partition_is_unread_from_its_readers_join_or_end_until_the_rebalance_ends() -> None:
    account = told(
        (0, STARTED),
        (200, MembersChanged(member_ids=("back",))),
        (500, change("member_left", "gone")),
    )
    moves = (move(0, "back", "x"), move(1, "gone", "x"), move(2, "silent", "x"), move(3, None, "x"))
    assert without(account, *moves) == {0: 700, 1: 400, 2: 900, 3: None}


def test_a_cooperative_partition_is_unread_from_one_rebalance_to_the_end_of_the_next() -> None:
    account = told((0, STARTED), (200, MembersChanged(member_ids=("a",))))
    assert without(account, move(0, "a", None), eager=False) == {0: None}
    account.end(T + 900)
    assert not account.is_empty, "it remembers a partition without a reader"
    account.note(T + 2_000, STARTED)
    (given,) = account.moved(completed(started_at=T + 2_000), [move(0, None, "b")], eager=False)
    assert given.without_ms == 2_000 + 900 - 900
    account.end(T + 2_900)
    assert account.is_empty


def progress(member_id: str, *, let_go: bool = True, is_done: bool = False) -> MemberProgressed:
    return MemberProgressed(member_id=member_id, let_go=let_go, is_done=is_done)


RECONCILING = StateChanged(before="Assigning", after="Reconciling")


def test_in_a_consumer_group_a_member_has_let_go_when_it_says_so_and_is_done_when_it_has_all() -> None:
    account = told(
        (0, STARTED),
        (0, RECONCILING),
        (100, progress("giver", let_go=False)),
        (150, MembersChanged(member_ids=("giver",))),
        (300, progress("giver", is_done=True)),
        (400, progress("taker", is_done=True)),
    )
    done = msgspec.structs.replace(completed(before=("giver",), after=("giver", "taker")), kind="consumer")
    parts = {part.member_id: (part.joined_ms, part.synced_ms) for part in account.parts(done, {})}
    assert parts == {"giver": (300, 300), "taker": (400, 400)}
    (given,) = account.moved(done, [move(0, "giver", "taker")], eager=False)
    assert given.without_ms == 100


def test_a_member_that_is_asked_once_more_to_give_something_up_has_not_let_go_yet() -> None:
    account = told(
        (0, STARTED), (0, RECONCILING), (100, progress("a", is_done=True)), (200, progress("a", let_go=False))
    )
    (part,) = account.parts(completed(before=("a",)), {})
    assert (part.joined_ms, part.synced_ms) == (None, None)


def test_what_members_do_between_two_rebalances_is_not_kept() -> None:
    assert told((0, progress("a", is_done=True)), (500, progress("b", let_go=False))).is_empty


def test_of_a_rebalance_that_was_not_followed_nothing_is_said() -> None:
    assert without(Account(), move(0, "a", "b"), move(1, "a", None)) == {0: None, 1: None}
    assert Account().is_empty


def test_of_partitions_without_a_reader_only_so_many_are_remembered() -> None:
    account = told((0, STARTED))
    without(account, *(move(n, "a", None) for n in range(PARTITIONS + 5)))
    assert len(account.unread) == PARTITIONS
