"""Classic groups of limited size (group.max.size), on a broker of their own."""

import select

import pytest

from tests.conformance.oracle.members import Member, describe, join, refused_join, settled
from tests.support.waiting import until

SIZE = 3
SETTINGS = {"group.max.size": SIZE}


@pytest.mark.parametrize("version", [3, 9])
def test_a_full_group_takes_no_newcomer_and_keeps_its_members(connect, group, version):
    members = settled(connect, group, SIZE)
    assert join(connect(), group, version=version) == refused_join(version, 81)
    assert {m.heartbeat() for m in members} == {0}
    assert members[-1].join().generation_id == members[0].generation


def test_a_place_that_becomes_free_can_be_taken(connect, group):
    members = settled(connect, group, SIZE)
    members[-1].leave()
    newcomer = Member(connect(), group)
    newcomer.send_join()
    for m in members[:-1]:
        m.send_join()
    assert {m.joined().generation_id for m in members[:-1]} == {newcomer.joined().generation_id}


def test_of_all_who_come_at_once_only_so_many_get_in_and_a_member_that_comes_too_late_is_out(connect, group):
    """https://issues.apache.org/jira/browse/KAFKA-9844"""
    (a,) = settled(connect, group, 1, rebalance=1_000)
    rivals = [Member(connect(), group, version=3, rebalance=1_000) for _ in range(SIZE + 2)]
    for m in rivals:
        m.send_join()
    refused = until(lambda: len(ready := select.select([m.client.socket for m in rivals], [], [], 0)[0]) == 2 and ready)
    for m in [m for m in rivals if m.client.socket in refused]:
        assert m.client.recv() == refused_join(3, 81)
        rivals.remove(m)
    assert join(a.client, group, a.id) == refused_join(9, 81)
    assert {m.joined().generation_id for m in rivals} == {2} and len(rivals) == SIZE
    assert len(describe(connect(), group).members) == SIZE
