import pytest

from kaas.wire.apis import DESCRIBE_CONFIGS
from tests.broker.handlers.topics import create
from tests.support.in_process import serving

TOPIC, BROKER = 2, 4


async def describe(peer, *resources, version=4, **more):
    rows = [
        {"resource_type": kind, "resource_name": name, "configuration_keys": keys} for kind, name, keys in resources
    ]
    return (await peer.ask(DESCRIBE_CONFIGS, version, resources=rows, **more)).results


@pytest.mark.parametrize("version", range(1, 5))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path, log_retention_ms=7) as peer:
        await create(peer, "t", segment_bytes="100")
        keys = ["retention.ms", "segment.bytes", "bogus"]
        (result,) = await describe(peer, (TOPIC, "t", keys), version=version, include_synonyms=True)
        rows = {row.name: row for row in result.configs}
        assert (result.error_code, rows.keys()) == (0, {"retention.ms", "segment.bytes"})
        assert (rows["segment.bytes"].value, rows["segment.bytes"].config_source) == ("100", 1)
        assert (rows["retention.ms"].value, rows["retention.ms"].config_source) == ("7", 4)
        assert [one.source for one in rows["segment.bytes"].synonyms] == [1, 5]
        assert version < 3 or rows["retention.ms"].config_type == 5


@pytest.mark.parametrize("keys", [None, []])
async def test_no_keys_mean_every_setting(tmp_path, keys):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        topic, broker = await describe(peer, (TOPIC, "t", keys), (BROKER, "1", keys))
        assert len(topic.configs) == 33 and "num.partitions" in {row.name for row in broker.configs}


async def test_synonyms_and_documentation_come_when_they_are_asked_for(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        for asked in (False, True):
            (result,) = await describe(
                peer, (TOPIC, "t", ["retention.ms"]), include_synonyms=asked, include_documentation=asked
            )
            (row,) = result.configs
            assert (bool(row.synonyms), row.documentation is not None) == (asked, asked)


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "no", 3),
        (TOPIC, "two words", 17),
        (TOPIC, "", 17),
        (BROKER, "7", 42),
        (BROKER, "x", 42),
        (BROKER, "", 0),
        (1, "x", 42),
        (99, "x", 42),
    ],
)
async def test_a_resource_that_is_not_there_does_not_stop_the_others(tmp_path, kind, name, code):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        bad, good = await describe(peer, (kind, name, None), (TOPIC, "t", None))
        assert (bad.error_code, bad.resource_type, bad.resource_name, bad.configs) == (code, kind, name, ())
        assert good.error_code == 0
