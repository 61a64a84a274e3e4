"""assignment.json: what other readers of the volume expect, whole or not there."""

from __future__ import annotations

import msgspec
import pytest

from kaas.cluster import assignment
from kaas.cluster.assignment import (
    Assignment,
    BadAssignment,
    BrokerEntry,
    GroupEntry,
    Listener,
    PartitionEntry,
)

BROKER = BrokerEntry(
    id=1, host="h", listeners=(Listener(name="PLAIN", host="h", port=9092),), state="alive", last_seen=7
)
WHOLE = Assignment(
    controller_epoch=2,
    assignment_version=5,
    generated_at=9,
    controller=1,
    cluster_id="c",
    brokers=(BROKER,),
    partitions=(PartitionEntry(topic="t", partition=0, broker=1, epoch=3),),
    consumer_groups=(GroupEntry(group_id="g", broker=1, epoch=4),),
)


def test_what_was_written_is_read(tmp_path):
    assert assignment.read(tmp_path / "new") is None
    assignment.write(tmp_path / "new", WHOLE)
    assert assignment.read(tmp_path / "new") == WHOLE
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["assignment.json"]


def test_the_names_of_fields_are_those_of_the_volume(tmp_path):
    assignment.write(tmp_path, WHOLE)
    assert msgspec.json.decode((tmp_path / "assignment.json").read_bytes()) == {
        "controllerEpoch": 2,
        "assignmentVersion": 5,
        "generatedAt": 9,
        "controller": 1,
        "clusterId": "c",
        "brokers": [
            {
                "id": 1,
                "host": "h",
                "listeners": [{"name": "PLAIN", "host": "h", "port": 9092}],
                "state": "alive",
                "lastSeen": 7,
            }
        ],
        "partitions": [{"topic": "t", "partition": 0, "broker": 1, "epoch": 3}],
        "consumerGroups": [{"groupId": "g", "broker": 1, "epoch": 4}],
    }


def test_fields_of_others_are_left_out(tmp_path):
    (tmp_path / "assignment.json").write_bytes(
        b'{"controllerEpoch": 1, "assignmentVersion": 1, "generatedAt": 0, "controller": 0, "theirs": []}'
    )
    assert assignment.read(tmp_path).brokers == ()


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"controllerEpoch": "one"}', b"\xff"])
def test_a_file_that_cannot_be_understood_is_told_with_what_to_do(tmp_path, data):
    (tmp_path / "assignment.json").write_bytes(data)
    with pytest.raises(BadAssignment, match=r"assignment\.json: .*repair it"):
        assignment.read(tmp_path)


def test_the_epoch_of_the_controller_decides_before_the_version():
    def order(epoch, version):
        return msgspec.structs.replace(WHOLE, controller_epoch=epoch, assignment_version=version).order

    assert order(2, 1) > order(1, 9) > order(1, 8)
