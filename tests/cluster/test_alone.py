"""A broker alone takes over its volume: newer at each start, the same cluster for ever."""

from __future__ import annotations

import pytest

from kaas.cluster import assignment
from kaas.cluster.alone import new_cluster_id, take_over
from kaas.cluster.assignment import BadAssignment, BrokerEntry, Listener
from kaas.cluster.view import ClusterView

BROKER = BrokerEntry(id=7, host="h", listeners=(Listener(name="P", host="h", port=1),), state="alive", last_seen=0)


def test_each_start_is_newer_than_the_last_and_keeps_the_cluster(tmp_path):
    first, second = take_over(tmp_path, BROKER, 10), take_over(tmp_path, BROKER, 20)
    assert second.order > first.order
    assert second.assignment_version == first.assignment_version + 1
    assert second.cluster_id == first.cluster_id and len(first.cluster_id) == 22
    assert assignment.read(tmp_path) == second


def test_the_broker_coordinates_every_group(tmp_path):
    cluster = ClusterView.of(7, take_over(tmp_path, BROKER, 10))
    assert all(cluster.coordinates(f"g{n}") for n in range(50))


def test_an_assignment_that_cannot_be_understood_is_not_overwritten(tmp_path):
    (tmp_path / assignment.FILE_NAME).write_bytes(b"?")
    with pytest.raises(BadAssignment):
        take_over(tmp_path, BROKER, 10)
    assert (tmp_path / assignment.FILE_NAME).read_bytes() == b"?"


def test_no_two_clusters_have_one_id():
    assert len({new_cluster_id() for _ in range(100)}) == 100
