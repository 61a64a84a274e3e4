import pytest

from kaas.wire.apis import ALTER_CONFIGS
from tests.broker.handlers.topics import create
from tests.support.in_process import serving

TOPIC, BROKER, GROUP = 2, 4, 32


async def alter(peer, kind, name, version=2, **values):
    configs = [{"name": key.replace("_", "."), "value": value} for key, value in values.items()]
    row = {"resource_type": kind, "resource_name": name, "configs": configs}
    answer = await peer.ask(ALTER_CONFIGS, version, resources=[row], validate_only=False)
    return int(answer.responses[0].error_code)


def topic(peer, name="t"):
    return peer.broker.topics.registry.get(name).configs


@pytest.mark.parametrize("version", range(3))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        assert await alter(peer, TOPIC, "t", version, retention_ms="7") == 0
        assert topic(peer) == {"retention.ms": "7"}


async def test_what_is_not_named_is_taken_back(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", retention_ms="1", segment_bytes="100")
        assert await alter(peer, TOPIC, "t", segment_bytes="200") == 0
        assert topic(peer) == {"segment.bytes": "200"}
        await alter(peer, BROKER, "1", num_partitions="3")
        await alter(peer, BROKER, "1", group_max_size="5")
        assert (peer.broker.settings["num.partitions"], peer.broker.settings["group.max.size"]) == (1, 5)


@pytest.mark.parametrize(
    ("kind", "name", "values", "code"),
    [
        (TOPIC, "t", {"retention_ms": "soon"}, 40),
        (TOPIC, "t", {"retention_ms": None}, 42),
        (TOPIC, "t", {"no_such": "1"}, 40),
        (BROKER, "1", {"listeners": "x"}, 42),
        (GROUP, "g", {"consumer_session_timeout_ms": "0"}, 40),
    ],
)
async def test_what_cannot_be_is_refused_and_nothing_changes(tmp_path, kind, name, values, code):
    async with serving(tmp_path) as peer:
        await create(peer, "t", segment_bytes="100")
        assert await alter(peer, kind, name, **values) == code
        assert topic(peer) == {"segment.bytes": "100"}
