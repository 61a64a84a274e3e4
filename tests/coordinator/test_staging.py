"""Offsets of transactions: who may stage them, who sees them, and what comes of them whatever else happens to their group."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator import timers
from kaas.coordinator.announcements import GroupCreated, OffsetsChanged
from kaas.coordinator.classic.states import State
from kaas.coordinator.events import TopicDeleted
from kaas.coordinator.offset_entry import OffsetKey
from kaas.errors import ErrorCode
from tests.support.groups import GROUP
from tests.support.laws import law
from tests.support.shell import Asked
from tests.support.transactions import Producer, Transactions

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)
RETENTION_MS, INTERVAL_MS = 100_000, 10_000


@pytest.fixture
def world():
    return Transactions(offsets_retention_ms=RETENTION_MS, offsets_retention_check_interval_ms=INTERVAL_MS)


@pytest.fixture
def producer(world):
    return world.producer(timeout_ms=900_000).comes()


# Who may stage


def test_offsets_may_be_staged_for_a_group_that_is_not_there(world, producer):
    assert producer.stages({T0: 5}).code == 0
    assert world.listed()[GROUP].state == "Empty" and world.listed()[GROUP].protocol_type == ""
    assert world.heard(GroupCreated)


@pytest.mark.parametrize(
    ("who", "code"),
    [
        ({"generation": 3}, 22),
        ({"generation": -1, "member_id": "ghost"}, 0),
        ({"generation": -1, "instance_id": "i"}, 0),
    ],
    ids=str,
)
def test_a_group_that_is_not_there_has_no_generation(world, producer, who, code):
    assert producer.stages({T0: 5}, **who).code == code


@pytest.mark.parametrize(
    ("who", "code"),
    [
        ({}, 0),
        ({"member_id": "ghost"}, 0),
        ({"member_id": "ghost", "instance_id": "i"}, 0),
        ({"generation": 0}, 25),
        ({"generation": 3, "member_id": "ghost"}, 25),
    ],
    ids=str,
)
def test_an_empty_group_lets_everybody_pass_who_names_no_generation(world, producer, who, code):
    world.commits({T0: 1})
    assert producer.stages({T0: 5}, **who).code == code


def test_a_group_with_members_takes_offsets_of_its_members_and_of_nobody(world, producer):
    """A producer without a consumer says so, and is believed.

    https://issues.apache.org/jira/browse/KAFKA-18060
    """
    (member,) = world.settled(world.member("instance"))
    told = {"generation": member.generation, "member_id": member.id, "instance_id": "instance"}
    for who, code in (
        ({}, 0),
        (told, 0),
        ({**told, "instance_id": None}, 0),
        ({**told, "generation": 99}, 22),
        ({**told, "generation": -1}, 22),
        ({**told, "member_id": "ghost"}, 82),
        ({**told, "instance_id": "other"}, 25),
        ({"generation": member.generation}, 25),
        ({"generation": 99, "member_id": "ghost"}, 25),
    ):
        assert producer.stages({T0: 5}, **who).code == code, who


def test_a_rebalance_stops_no_transaction(world, producer):
    """Redpanda a666c9b4: a rebalance was answered 27.

    https://github.com/redpanda-data/redpanda/commit/a666c9b4
    """
    first, second = world.gathered(*world.members(2))
    assert world.state is State.COMPLETING_REBALANCE
    who = {"generation": first.generation, "member_id": first.id}
    assert producer.stages({T0: 5}, **who).code == producer.stages({T0: 5}).code == 0
    first.syncs({first: b"", second: b""})
    second.syncs()
    first.joins()
    assert world.state is State.PREPARING_REBALANCE
    assert producer.stages({T0: 6}, **who).code == 0


def test_staging_does_not_keep_a_member_alive(world, producer):
    (member,) = world.settled(world.member())
    deadline = world.timers[timers.session(GROUP, member.id)]
    world.passes(1_000)
    producer.stages({T0: 5}, generation=member.generation, member_id=member.id)
    assert world.timers[timers.session(GROUP, member.id)] == deadline


def test_the_empty_group_id_is_refused_and_nothing_is_staged_while_groups_load(world, producer):
    assert producer.stages({T0: 5}, "").code == 24
    world.core.broken = {GROUP: "its file is corrupt"}
    assert producer.stages({T0: 5}).code == 14


def test_a_group_that_is_being_deleted_takes_nothing(world, producer):
    world.commits({T0: 1})
    producer.adds(groups=(GROUP,))
    world.journal.held = True
    world.deletes()
    assert producer.stages({T0: 5}).code == 15


def test_long_metadata_fails_its_row_alone(world, producer):
    asked = producer.stages({T0: 5, T1: 6}, metadata="x" * 4_097)
    assert asked.code == 0 and asked.answer.rows == dict.fromkeys((0, 1), ErrorCode.OFFSET_METADATA_TOO_LARGE)
    assert not world.staged()
    assert producer.stages({T0: 5}, metadata="x" * 4_096).answer.rows is None
    producer.ends()
    assert world.core.groups[GROUP].offset(*T0).metadata == "x" * 4_096


# Who sees them


def test_what_is_staged_is_seen_by_nobody_and_makes_its_partition_unstable(world, producer):
    world.commits({T0: 1})
    producer.stages({T0: 5, T1: 6})
    assert world.committed() == {T0: 1}
    assert world.unstable(T0, T1, U0) == {T0, T1}
    producer.ends()
    assert world.committed() == {T0: 5, T1: 6} and not world.unstable(T0, T1)


def test_what_is_aborted_was_never_there(world, producer):
    world.commits({T0: 1})
    producer.stages({T0: 5, T1: 6})
    producer.aborts()
    assert world.committed() == {T0: 1} and not world.unstable(T0, T1)


def test_staging_is_acknowledged_when_it_is_durable_and_the_end_when_it_is_in(world, producer):
    producer.adds(groups=(GROUP,))
    world.journal.held = True
    staged = producer.stages({T0: 5})
    assert staged.waits and not world.unstable(T0)
    world.settle()
    ended = producer.ends()
    world.writes()
    assert ended.waits and world.committed() == {} and world.unstable(T0)
    world.settle()
    assert ended.code == 0 and world.committed() == {T0: 5}


def test_an_offset_that_cannot_be_staged_is_refused_and_may_be_sent_again(world, producer):
    producer.adds(groups=(GROUP,))
    world.journal.full = True
    assert producer.stages({T0: 5}).code == 15
    assert not world.staged()
    world.journal.full = False
    assert producer.stages({T0: 6}).code == 0
    producer.ends()
    assert world.committed() == {T0: 6}


def test_an_end_that_cannot_be_folded_in_is_tried_until_it_can(world, producer):
    producer.stages({T0: 5})
    world.held = True
    asked = producer.ends()
    world.journal.full = True
    world.lets_through()
    world.passes(2_000)
    assert asked.waits and world.unstable(T0)
    world.journal.full = False
    world.passes(2_000)
    assert asked.code == 0 and world.committed() == {T0: 5}


def test_people_are_told_when_offsets_come_in_and_not_before(world, producer):
    producer.stages({T0: 5, T1: 6})
    assert not world.heard(OffsetsChanged)
    producer.ends()
    (told,) = world.heard(OffsetsChanged)
    assert (told.kind, set(told.partitions)) == ("offsets_committed", {T0, T1})
    producer.stages({T0: 7})
    producer.aborts()
    assert len(world.heard(OffsetsChanged)) == 1


def test_people_are_told_of_offsets_that_were_still_on_their_way_when_the_end_came(world, producer):
    world.journal.held = True
    staged, ended = producer.stages({T0: 5}), producer.ends()
    world.writes()  # the group is in the transaction: the offset sets out
    world.writes()  # the end is decided
    assert staged.waits and ended.waits
    world.settle()
    assert staged.code == ended.code == 0 and world.committed() == {T0: 5}
    assert [told.partitions for told in world.heard(OffsetsChanged)] == [[T0]]


# What comes of them


def test_the_last_offset_of_a_transaction_counts(world, producer):
    producer.stages({T0: 9})
    producer.stages({T0: 4})
    producer.ends()
    assert world.committed() == {T0: 4}


def test_a_plain_commit_that_came_later_outlives_it(world, producer):
    producer.stages({T0: 5, T1: 5})
    world.commits({T0: 7})
    assert world.unstable(T0), "it is still held"
    producer.ends()
    assert world.committed() == {T0: 7, T1: 5}


def test_an_offset_that_is_staged_again_after_that_counts(world, producer):
    producer.stages({T0: 5})
    world.commits({T0: 7})
    producer.stages({T0: 6})
    producer.ends()
    assert world.committed() == {T0: 6}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_two_transactions_the_one_that_wrote_last_counts_whichever_ends_last(world, order):
    both = [world.producer(name).comes() for name in ("one", "two")]
    for offset, each in enumerate(both):
        each.stages({T0: offset})
    for number in order:
        both[number].ends()
    assert world.committed() == {T0: 1}


def test_an_aborted_one_overtakes_nothing(world):
    one, two = (world.producer(name).comes() for name in ("one", "two"))
    one.stages({T0: 1})
    two.stages({T0: 2})
    two.aborts()
    one.ends()
    assert world.committed() == {T0: 1}


def test_deleted_offsets_do_not_come_in_afterwards(world, producer):
    world.commits({T0: 1})
    producer.stages({T0: 5, T1: 6, U0: 7})
    asked = world.deletes_offsets(T0, T1)
    assert set(asked.answer.partitions.values()) == {ErrorCode.NONE}
    assert world.unstable(T0, T1, U0) == {U0}
    producer.ends()
    assert world.committed() == {U0: 7}


def test_a_deleted_group_does_not_come_back(world, producer):
    world.commits({T0: 1})
    producer.stages({T0: 5})
    assert world.deletes().answer.code == 0
    assert producer.ends().code == 0
    assert world.listed() == {}


def test_a_new_group_of_that_name_gets_only_what_is_staged_in_it(world, producer):
    producer.stages({T0: 5})
    world.deletes()
    producer.stages({T1: 6})
    producer.ends()
    assert world.committed() == {T1: 6}


def test_offsets_of_a_deleted_topic_do_not_come_in(world, producer):
    producer.stages({T0: 5, U0: 7})
    world.submit(TopicDeleted(topic="t"))
    producer.ends()
    assert world.committed() == {U0: 7}


def test_nor_do_those_that_were_on_their_way(world, producer):
    producer.adds(groups=(GROUP,))
    world.journal.held = True
    producer.stages({T0: 5})
    world.submit(TopicDeleted(topic="t"))
    world.journal.held = False
    world.settle()
    producer.ends()
    assert world.committed() == {}


def test_what_a_transaction_holds_does_not_expire_and_neither_does_its_group(world, producer):
    """KAFKA-19163."""
    world.commits({T0: 1, T1: 1})
    producer.stages({T0: 5})
    world.passes(RETENTION_MS + 2 * INTERVAL_MS)
    assert world.committed() == {T0: 1}
    world.commits({U0: 1}, group_id="other")
    producer.stages({U0: 2}, "lonely")
    world.passes(2 * RETENTION_MS)
    assert "lonely" in world.listed() and "other" not in world.listed()
    producer.aborts()
    world.passes(INTERVAL_MS)
    assert world.listed() == {}


def test_an_offset_that_comes_in_is_as_old_as_its_staging(world, producer):
    producer.stages({T0: 5})
    staged_at = world.wall_ms
    world.passes(50_000)
    producer.ends()
    assert world.core.groups[GROUP].offset(*T0).committed_at == staged_at


def test_an_end_that_is_told_twice_is_found_done(world, producer):
    producer.stages({T0: 5})
    world.held = True
    producer.ends()
    world.sent.append(world.sent[0])
    world.lets_through()
    assert world.committed() == {T0: 5}
    world.commits({T0: 9})
    assert world.committed() == {T0: 9}


def test_one_producer_in_two_groups_ends_in_both(world, producer):
    producer.stages({T0: 5}, "a")
    producer.stages({T0: 6}, "b")
    producer.ends()
    assert world.committed("a") == {T0: 5} and world.committed("b") == {T0: 6}


# A law


PRODUCERS = ("one", "two", "three")
KEYS = (T0, T1, U0)


class Story:
    """What an append-only log of commits would say (PROTOCOL 7.2.14): of a partition the last offset that was written counts,
    once it is visible; deleting drops all that was written before, visible or not."""

    def __init__(self) -> None:
        self.rows: list[tuple[OffsetKey, int, str | None]] = []

    def write(self, key: OffsetKey, offset: int, producer: str | None) -> None:
        self.rows.append((key, offset, producer))

    def end(self, producer: str, *, committed: bool) -> None:
        rows = [(key, offset, None if who == producer else who) for key, offset, who in self.rows]
        self.rows = rows if committed else [row for row in self.rows if row[2] != producer]

    def delete(self, keys: tuple[OffsetKey, ...]) -> None:
        self.rows = [row for row in self.rows if row[0] not in keys]

    @property
    def visible(self) -> dict[OffsetKey, int]:
        return {key: offset for key, offset, who in self.rows if who is None}

    @property
    def unstable(self) -> set[OffsetKey]:
        return {key for key, _, who in self.rows if who is not None}


who = st.sampled_from(PRODUCERS)
which = st.sampled_from(KEYS)
acts = st.one_of(
    st.tuples(st.just("stages"), who, which),
    st.tuples(st.just("ends"), who, st.booleans()),
    st.tuples(st.just("commits"), which),
    st.tuples(st.just("deletes"), which),
    st.tuples(st.just("topic"), st.sampled_from("tu")),
    st.tuples(st.just("restarts")),
)


def act(world: Transactions, producers: dict[str, Producer], story: Story, offset: int, what: str, *about) -> None:
    if what == "stages":
        name, key = about
        assert producers[name].stages({key: offset}).code == 0
        story.write(key, offset, name)
    elif what == "ends":
        name, committed = about
        if producers[name].ends(committed=committed).code == 0:
            story.end(name, committed=committed)
    elif what == "commits":
        world.commits({about[0]: offset})
        story.write(about[0], offset, None)
    elif what == "deletes":
        world.deletes_offsets(about[0])
        story.delete(about)
    elif what == "topic":
        world.submit(TopicDeleted(topic=about[0]))
        story.delete(tuple(key for key in KEYS if key[0] == about[0]))
    else:
        world.restarts()


@given(st.lists(acts, max_size=30))
@law
def test_offsets_are_as_if_all_of_them_were_written_to_one_log(steps):
    world, story = Transactions(), Story()
    producers = {name: world.producer(name).comes() for name in PRODUCERS}
    for offset, step in enumerate(steps):
        act(world, producers, story, offset, *step)
        assert world.committed() == story.visible
        assert world.staged() == story.unstable


def test_a_request_that_names_a_group_which_is_not_in_the_transaction_stages_nothing(world):
    first = world.producer(transactions=1).comes()
    first.adds(T0)
    assert first.stages({T0: 5}).code == 48
    asked: Asked = first.begins_with({T0: 5}, "other")
    assert asked.code == 0 and world.staged("other") == {T0} and not world.staged()
