"""Which gateway serves which cluster.

Job: one gateway per cluster and process, made when it is asked for.
Rules: librdkafka is loaded by the first of them, not by every start of the console.
"""

from __future__ import annotations

from groups.clusters import Cluster
from groups.gateway import Gateway

_gateways: dict[Cluster, Gateway] = {}


def gateway_of(cluster: Cluster) -> Gateway:
    """The gateway of a cluster, one per process."""
    if cluster not in _gateways:
        from groups.kafka import KafkaGateway

        _gateways[cluster] = KafkaGateway(cluster)
    return _gateways[cluster]


def gateway_use(cluster: Cluster, gateway: Gateway | None) -> None:
    """Puts another gateway in a cluster's place, null takes it away again: for tests."""
    if gateway is None:
        _gateways.pop(cluster, None)
    else:
        _gateways[cluster] = gateway
