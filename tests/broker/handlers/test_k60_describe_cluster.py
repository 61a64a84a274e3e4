import pytest

from kaas.wire.apis import DESCRIBE_CLUSTER
from tests.support.in_process import serving


@pytest.mark.parametrize("version", range(3))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        answer = await peer.ask(DESCRIBE_CLUSTER, version, endpoint_type=1)
        assert (answer.error_code, answer.cluster_id, answer.controller_id) == (0, peer.broker.cluster.cluster_id, 1)
        assert [(one.broker_id, one.host, one.port) for one in answer.brokers] == [(1, "127.0.0.1", peer.broker.port)]
        assert answer.cluster_authorized_operations == -(2**31)


@pytest.mark.parametrize(("kind", "code"), [(2, 114), (9, 115)])
async def test_only_brokers_are_endpoints(tmp_path, kind, code):
    async with serving(tmp_path) as peer:
        answer = await peer.ask(DESCRIBE_CLUSTER, 2, endpoint_type=kind)
        assert (answer.error_code, answer.brokers) == (code, ()) and answer.error_message


async def test_operations_are_told_when_they_are_asked_for(tmp_path):
    async with serving(tmp_path) as peer:
        answer = await peer.ask(DESCRIBE_CLUSTER, 2, endpoint_type=1, include_cluster_authorized_operations=True)
        assert answer.cluster_authorized_operations == 8096
