"""One gateway for each cluster."""

from groups.clusters import clusters
from groups.gateways import gateway_of, gateway_use
from groups.kafka import KafkaGateway
from groups.testing.memory import MemoryGateway


def test_each_cluster_has_one_gateway():
    local = clusters()["local"]
    assert gateway_of(local) is gateway_of(local)
    memory = MemoryGateway()
    gateway_use(local, memory)
    assert gateway_of(local) is memory
    gateway_use(local, None)
    assert isinstance(gateway_of(local), KafkaGateway)
    gateway_use(local, None)
