"""A group as a whole: its offsets by topic and partition, and how little an idle one costs."""

from __future__ import annotations

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator.classic.states import State
from kaas.coordinator.group import new_group
from kaas.coordinator.offset_entry import OffsetEntry
from tests.support.laws import law

ENTRY = OffsetEntry(1, -1, "", 0)


def test_a_new_group_is_empty_with_generation_0_and_nothing_durable():
    group = new_group("g")
    assert (group.classic.state, group.classic.generation, group.stored) == (State.EMPTY, 0, None)
    assert group.keys() == [] and not group.deleting


def test_offsets_are_put_found_and_dropped():
    group = new_group("g")
    group.put("t", 0, ENTRY)
    group.put("t", 2, ENTRY)
    assert group.offset("t", 0) is ENTRY
    assert group.offset("t", 1) is None and group.offset("u", 0) is None
    assert group.keys() == [("t", 0), ("t", 2)]
    assert group.drop("t", 0) and not group.drop("t", 0) and not group.drop("u", 0)
    assert group.drop("t", 2) and group.offsets == {}


@given(
    st.lists(
        st.tuples(st.sampled_from(["stage", "commit", "abort", "drop", "put"]), st.integers(0, 2), st.integers(0, 2))
    )
)
@law
def test_who_holds_a_partition_is_known_without_looking_through_all_transactions(steps):
    """A question for stable offsets looked through every open transaction.

    https://issues.apache.org/jira/browse/KAFKA-19160
    https://issues.apache.org/jira/browse/KAFKA-19164
    """
    group = new_group("g")
    for step, producer, partition in steps:
        if step == "stage":
            group.stage(producer, 0, "t", partition, ENTRY)
        elif step == "drop":
            group.drop_staged("t", partition)
        elif step == "put":
            group.put("t", partition, ENTRY)
            group.overtake("t", partition)
        else:
            group.unstage(producer, committed=step == "commit")
        looked_for = {}
        for number, rows in group.staged.items():
            for key in rows:
                looked_for.setdefault(key, set()).add(number)
        assert {key: set(numbers) for key, numbers in group.holders.items()} == looked_for
        assert all(group.staged.values())
    group.forget_staged()
    assert group.staged == {} and group.holders == {}


def test_ten_thousand_empty_groups_fit_into_thirty_megabytes():
    count = 2_000
    tracemalloc.start()
    groups = {f"group-{number}": new_group(f"group-{number}") for number in range(count)}
    for group in groups.values():
        group.put("topic", 0, OffsetEntry(1, -1, "", 0))
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size / count * 10_000 < 30 * 2**20
