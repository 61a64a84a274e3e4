"""Offsets that expire, by the retention that OffsetCommit 2-4 may carry.

These have a broker of their own, which looks for expired offsets often. Other tests need one that looks seldom: each look also
removes empty groups without offsets.
"""

import pytest

from tests.conformance.oracle.groups import (
    Offset,
    commit,
    committed,
    emptied,
    leave,
    listed,
    stable,
    state,
)
from tests.support.waiting import until

SETTINGS = {"offsets.retention.check.interval.ms": 500}


@pytest.mark.parametrize("version", [2, 3, 4])
def test_an_offset_expires_by_its_own_retention_and_not_with_others(c, group, lasting, version):
    commit(c, group, {(lasting, 0): 1}, version=version, retention_time=1)
    commit(c, group, {(lasting, 1): 2}, version=version, retention_time=3_600_000)
    commit(c, group, {(lasting, 2): 3}, version=version, retention_time=-1)
    until(lambda: committed(c, group) == {(lasting, 1): Offset(2), (lasting, 2): Offset(3)}, within_s=20)
    assert group in listed(c)


def test_an_empty_group_goes_with_its_last_offset(c, group, lasting):
    other = group + "-other"
    emptied(c, group, [lasting])  # never had one
    commit(c, other, {(lasting, 0): 1}, version=2, retention_time=1)
    until(lambda: not {group, other} & set(listed(c)), within_s=20)
    assert state(c, other) == "Dead" and committed(c, other) == {}


def test_a_stable_group_keeps_the_offsets_of_what_it_subscribes_to(c, group, lasting, second):
    member = stable(c, group, [lasting])
    commit(c, group, {(lasting, 0): 1, (second, 0): 2}, member, 2, retention_time=1)
    until(lambda: committed(c, group) == {(lasting, 0): Offset(1)}, within_s=20)
    leave(c, group, member)
    until(lambda: committed(c, group) == {}, within_s=20)


def test_a_newer_commit_of_the_same_partition_counts(c, group, lasting):
    commit(c, group, {(lasting, 0): 1, (lasting, 1): 1}, version=2, retention_time=1)
    commit(c, group, {(lasting, 0): 2}, version=7)
    until(lambda: (lasting, 1) not in committed(c, group), within_s=20)
    assert committed(c, group) == {(lasting, 0): Offset(2)}
