"""Questions that change nothing: describe, list, fetch offsets."""

from __future__ import annotations

import pytest

from kaas.coordinator import queries
from kaas.coordinator.offset_entry import OffsetEntry
from kaas.coordinator.queries import DescribedGroup, FetchedOffsets, ListedGroup
from kaas.errors import ErrorCode
from tests.support.groups import GROUP, OTHER_TOPIC, RANGE, Groups, assignment

LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


# DescribeGroups


def test_an_unknown_group_is_dead():
    described = Groups().described("unknown")
    assert described == DescribedGroup(code=ErrorCode.GROUP_ID_NOT_FOUND, group_id="unknown", state="Dead")


def test_each_state_is_described_as_it_is():
    """K10: Describe showed members without assignments."""
    groups = Groups()
    a, b = groups.members(2)

    def seen():
        d = groups.described()
        return d.state, d.protocol_type, d.protocol_name, [(m.member_id, m.metadata, m.assignment) for m in d.members]

    a.takes_id()
    assert seen() == ("Empty", "", "", [])
    a.joins()
    assert seen() == ("CompletingRebalance", "consumer", "", [(a.id, b"", b"")])
    a.syncs({a: b"mine"})
    assert seen() == ("Stable", "consumer", "range", [(a.id, RANGE[0][1], b"mine")])
    b.joins()
    assert seen() == ("PreparingRebalance", "consumer", "", [(a.id, b"", b"mine"), (b.id, b"", b"")])
    a.joins()
    assert seen() == ("CompletingRebalance", "consumer", "", [(a.id, b"", b"mine"), (b.id, b"", b"")])


def test_a_member_is_described_with_its_client_and_instance():
    groups = Groups()
    groups.settled(groups.member("i0", client_id="billing", client_host="/10.2.3.4"))
    (m,) = groups.described().members
    assert (m.client_id, m.client_host, m.instance_id) == ("billing", "/10.2.3.4", "i0")
    assert m.assignment == assignment("t", 0)


# ListGroups


def test_a_fresh_broker_lists_nothing():
    """https://issues.apache.org/jira/browse/KAFKA-15849"""
    assert queries.list_groups(Groups().core, [], []) == (ErrorCode.NONE, [])


def test_groups_are_listed_whatever_they_are_doing():
    """A list waited for busy groups. K21: a group known by its offsets alone is Empty.

    https://github.com/redpanda-data/redpanda/issues/1865
    """
    groups = Groups()
    for number in range(50):
        groups.member(version=3).joins()
        assert number < 1 or groups.described().state == "PreparingRebalance"
    groups.commits({("t", 0): 1}, group_id="simple")
    assert groups.listed() == {
        GROUP: ListedGroup(GROUP, "consumer", "PreparingRebalance", "classic"),
        "simple": ListedGroup("simple", "", "Empty", "classic"),
    }


@pytest.mark.parametrize(
    ("states", "types", "found"),
    [
        ([], [], {GROUP, "simple"}),
        (["Stable"], [], {GROUP}),
        (["stable", "EMPTY"], [], {GROUP, "simple"}),
        (["Nonsense"], [], set()),
        ([], ["Classic"], {GROUP, "simple"}),
        ([], ["consumer"], set()),
        (["Empty"], ["classic"], {"simple"}),
    ],
)
def test_filters_ignore_case_and_an_unknown_word_matches_nothing(states, types, found):
    groups = Groups()
    groups.settled(groups.member())
    groups.commits({("t", 0): 1}, group_id="simple")
    assert set(groups.listed(states=states, types=types)) == found


# OffsetFetch


def fetch(groups, wanted, *, stable=False, group_id=GROUP):
    return queries.fetch_offsets(groups.core, group_id, wanted, require_stable=stable)


def test_an_unknown_group_has_no_offsets_and_that_is_no_error():
    groups = Groups()
    assert fetch(groups, [("t", 0)]) == FetchedOffsets(offsets={("t", 0): None})
    assert fetch(groups, None) == FetchedOffsets()


def test_every_partition_asked_for_is_answered():
    """brod#660, sarama: a partition without a commit has a row too."""
    groups = Groups()
    groups.commits({("t", 1): 7})
    found = fetch(groups, [("t", 0), ("t", 1), ("u", 0)]).offsets
    assert list(found) == [("t", 0), ("t", 1), ("u", 0)]
    assert found["t", 0] is None and found["u", 0] is None and found["t", 1].offset == 7


def test_null_means_every_committed_partition_and_an_empty_list_none():
    groups = Groups()
    groups.commits({("t", 0): 4, ("t", 2): 5, ("u", 0): 6})
    assert set(fetch(groups, None).offsets) == {("t", 0), ("t", 2), ("u", 0)}
    assert fetch(groups, []).offsets == {}


def test_a_partition_that_an_open_transaction_holds_is_unstable_for_who_asks():
    """KIP-447."""
    groups = Groups()
    groups.commits({("t", 0): 4, ("t", 1): 5})
    for partition in (1, 2):
        groups.core.groups[GROUP].stage(1, 0, "t", partition, OffsetEntry(9, -1, "", 0))
    assert fetch(groups, None, stable=True).unstable == {("t", 1)}, "without a committed offset it has no row"
    assert fetch(groups, [("t", 0), ("t", 2)], stable=True).unstable == {("t", 2)}
    assert fetch(groups, None).unstable == frozenset()


class Counted(dict):
    """Counts the questions for one key, and is never looked through."""

    asked = 0

    def __contains__(self, key):
        self.asked += 1
        return super().__contains__(key)

    def __getitem__(self, key):
        self.asked += 1
        return super().__getitem__(key)

    def get(self, key, default=None):
        self.asked += 1
        return super().get(key, default)

    def _looked_through(self):
        raise AssertionError("looked through")

    __iter__ = keys = values = items = copy = _looked_through


@pytest.mark.parametrize("transactions", [1, 10_000])
def test_stable_offsets_cost_the_same_however_many_transactions_are_open(transactions):
    """A fetch with require_stable looked through every open transaction: it asks once for each partition instead.

    https://issues.apache.org/jira/browse/KAFKA-19160
    https://issues.apache.org/jira/browse/KAFKA-19164
    """
    groups = Groups()
    groups.commits({("t", partition): 4 for partition in range(3)})
    group = groups.core.groups[GROUP]
    for producer_id in range(transactions):
        group.stage(producer_id, 0, "t", producer_id, OffsetEntry(9, -1, "", 0))
    staged, holders = group.staged, group.holders = Counted(group.staged), Counted(group.holders)
    for wanted in (None, [("t", partition) for partition in range(3)]):
        holders.asked = 0
        assert ("t", 0) in fetch(groups, wanted, stable=True).unstable
        assert (holders.asked, staged.asked) == (3, 0)


def test_offsets_are_fetched_in_every_state():
    groups = Groups()
    a, b = groups.settled(*groups.members(2))
    a.commits(5)
    b.joins(protocols=OTHER_TOPIC)
    assert groups.committed() == {("t", 0): 5}
    a.joins()
    assert groups.committed() == {("t", 0): 5}


def test_while_groups_are_loaded_every_question_is_told_so():
    groups = Groups()
    groups.starts_loading()
    assert queries.list_groups(groups.core, [], []) == (LOADING, [])
    assert groups.described() == DescribedGroup(code=LOADING, group_id=GROUP, state="")
    assert fetch(groups, None) == FetchedOffsets(code=LOADING)
