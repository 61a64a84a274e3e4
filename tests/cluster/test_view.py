"""Who coordinates a group: both tiers in one question."""

from __future__ import annotations

import msgspec
import pytest

from kaas.cluster.assignment import Assignment, BrokerEntry, GroupEntry, Listener
from kaas.cluster.group_hash import broker_for
from kaas.cluster.view import ClusterView

IDS = [f"group-{n}" for n in range(60)]


def broker(number: int, state: str = "alive") -> BrokerEntry:
    listeners = tuple(Listener(name=name, host=f"h{number}", port=port) for name, port in (("IN", 1), ("OUT", 2)))
    return BrokerEntry(id=number, host=f"h{number}", listeners=listeners, state=state, last_seen=0)


def view(*brokers: BrokerEntry, groups: tuple[GroupEntry, ...] = (), mine: int = 1) -> ClusterView:
    return ClusterView.of(
        mine,
        Assignment(
            controller_epoch=1,
            assignment_version=1,
            generated_at=0,
            controller=1,
            cluster_id="c",
            brokers=brokers,
            consumer_groups=groups,
        ),
    )


def test_without_an_entry_the_hash_decides():
    """librdkafka#2944: FindCoordinator and the coordinator must ask one function, or clients go in circles."""
    cluster = view(broker(1), broker(2), broker(3))
    assert all(cluster.coordinator_of(g) == broker_for(g, [1, 2, 3], [1, 2, 3]) for g in IDS)
    assert {cluster.coordinator_of(g) for g in IDS} == {1, 2, 3}


def test_an_entry_wins_while_its_broker_is_registered_alive_or_not():
    for state in ("alive", "draining", "dead"):
        cluster = view(broker(1), broker(2, state), groups=(GroupEntry(group_id="g", broker=2, epoch=1),))
        assert cluster.coordinator_of("g") == 2


def test_an_entry_of_a_broker_that_left_is_retired():
    entry = GroupEntry(group_id="g", broker=9, epoch=1)
    assert view(broker(1), broker(2), groups=(entry,)).coordinator_of("g") == view(broker(1), broker(2)).coordinator_of(
        "g"
    )


def test_the_first_entry_that_equals_the_hash_moves_nothing():
    """K3: the first explicit entry moved the group."""
    before = view(broker(1), broker(2), broker(3))
    for g in IDS:
        entry = GroupEntry(group_id=g, broker=before.coordinator_of(g), epoch=2)
        after = view(broker(1), broker(2), broker(3), groups=(entry,))
        assert all(after.coordinator_of(other) == before.coordinator_of(other) for other in IDS)


def test_a_newer_assignment_that_changes_no_owner_moves_nothing():
    """K1: every group was torn down at each rewrite of the assignment."""
    before = view(broker(1), broker(2))
    newer = msgspec.structs.replace(before.assignment, assignment_version=9, generated_at=5)
    assert all(ClusterView.of(1, newer).coordinator_of(g) == before.coordinator_of(g) for g in IDS)


def test_each_group_is_coordinated_by_exactly_one_broker():
    """A group that lives on the hash alone, or on an entry, is listed by one broker.

    K2: a group that only the hash names counted as nobody's, and was swept away.

    https://github.com/confluentinc/librdkafka/issues/5417
    """
    entries = (GroupEntry(group_id=IDS[0], broker=3, epoch=1),)
    views = [view(broker(1), broker(2), broker(3, "dead"), broker(4), groups=entries, mine=n) for n in (1, 2, 3, 4)]
    assert all(sum(one.coordinates(g) for one in views) == 1 for g in IDS)


def test_a_broker_that_is_not_alive_is_not_shown_and_hands_its_groups_on():
    cluster = view(broker(1), broker(2, "dead"), broker(3, "draining"))
    assert [b.id for b in cluster.brokers] == [1]
    assert {cluster.coordinator_of(g) for g in IDS} == {1}
    assert view(broker(1, "dead")).coordinator_of("g") is None


def test_an_address_is_that_of_the_listener_asked_for():
    """K18: the port of another listener was named."""
    cluster = view(broker(1), broker(2))
    assert cluster.address(2, "OUT") == ("h2", 2)
    assert cluster.address(2, "ELSE") is None and cluster.address(9, "IN") is None


@pytest.mark.parametrize("mine", [1, 2])
def test_a_view_knows_its_cluster_and_itself(mine):
    cluster = view(broker(1), broker(2), mine=mine)
    assert cluster.cluster_id == "c"
    assert all(cluster.coordinates(g) == (cluster.coordinator_of(g) == mine) for g in IDS)
