import pytest

from kaas.broker.replicas import check_assignment, check_replication_factor
from kaas.cluster.assignment import Assignment, BrokerEntry
from kaas.cluster.view import ClusterView
from kaas.errors import ErrorCode, KafkaError

BROKERS = tuple(BrokerEntry(id=id, host="h", listeners=(), state="alive", last_seen=0) for id in (1, 2))
CLUSTER = ClusterView.of(
    1, Assignment(controller_epoch=1, assignment_version=1, generated_at=0, controller=1, brokers=BROKERS)
)


def code_of(call) -> ErrorCode | None:
    try:
        call()
    except KafkaError as error:
        return error.code
    return None


@pytest.mark.parametrize("factor", [0, -1, -2, 2, 3])
def test_a_partition_has_one_replica(factor):
    assert code_of(lambda: check_replication_factor(factor, CLUSTER)) == ErrorCode.INVALID_REPLICATION_FACTOR
    check_replication_factor(1, CLUSTER)


@pytest.mark.parametrize(
    ("brokers", "good"), [([1], True), ([2], True), ([], False), ([9], False), ([1, 1], False), ([1, 2], False)]
)
def test_a_partition_may_be_assigned_to_one_broker_that_there_is(brokers, good):
    code = code_of(lambda: check_assignment(brokers, CLUSTER))
    assert code == (None if good else ErrorCode.INVALID_REPLICA_ASSIGNMENT)
