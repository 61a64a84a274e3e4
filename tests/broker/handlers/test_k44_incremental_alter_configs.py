import pytest

from kaas.wire.apis import DESCRIBE_CONFIGS, INCREMENTAL_ALTER_CONFIGS
from tests.broker.handlers.topics import create
from tests.support.in_process import serving

TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


async def alter(peer, kind, name, *steps, version=1, validate_only=False):
    configs = [{"name": key, "config_operation": operation, "value": value} for key, operation, value in steps]
    row = {"resource_type": kind, "resource_name": name, "configs": configs}
    answer = await peer.ask(INCREMENTAL_ALTER_CONFIGS, version, resources=[row], validate_only=validate_only)
    return answer.responses[0]


async def shown(peer, kind, name, key):
    row = {"resource_type": kind, "resource_name": name, "configuration_keys": [key]}
    answer = await peer.ask(DESCRIBE_CONFIGS, 4, resources=[row], include_synonyms=True)
    (config,) = answer.results[0].configs
    return config.value, config.config_source


@pytest.mark.parametrize("version", range(2))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path) as peer:
        assert (await alter(peer, BROKER, "1", ("group.max.size", SET, "7"), version=version)).error_code == 0
        assert await shown(peer, BROKER, "1", "group.max.size") == ("7", 2)


@pytest.mark.parametrize(
    ("kind", "name", "key", "source", "default_source"),
    [
        (TOPIC, "t", "retention.ms", 1, 5),
        (BROKER, "1", "offset.metadata.max.bytes", 2, 5),
        (GROUP, "g", "consumer.heartbeat.interval.ms", 8, 5),
    ],
)
async def test_what_is_set_is_shown_with_its_source_until_it_is_deleted(
    tmp_path, kind, name, key, source, default_source
):
    async with serving(tmp_path, group_consumer_min_heartbeat_interval_ms=1) as peer:
        await create(peer, "t")
        default, _ = await shown(peer, kind, name, key)
        assert (await alter(peer, kind, name, (key, SET, "7"))).error_code == 0
        assert await shown(peer, kind, name, key) == ("7", source)
        assert (await alter(peer, kind, name, (key, DELETE, None))).error_code == 0
        assert await shown(peer, kind, name, key) == (default, default_source)


async def test_items_are_added_to_a_list_and_taken_from_it(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await alter(peer, TOPIC, "t", ("cleanup.policy", APPEND, "compact"))
        assert await shown(peer, TOPIC, "t", "cleanup.policy") == ("delete,compact", 1)
        await alter(peer, TOPIC, "t", ("cleanup.policy", SUBTRACT, "delete"))
        assert await shown(peer, TOPIC, "t", "cleanup.policy") == ("compact", 1)


async def test_a_setting_of_all_brokers_is_shown_under_the_empty_name(tmp_path):
    async with serving(tmp_path) as peer:
        await alter(peer, BROKER, "", ("num.partitions", SET, "3"))
        assert await shown(peer, BROKER, "", "num.partitions") == ("3", 3)
        assert await shown(peer, BROKER, "1", "num.partitions") == ("3", 3)


@pytest.mark.parametrize(
    ("kind", "name", "step", "code", "words"),
    [
        (BROKER, "1", ("listeners", SET, "x"), 42, "Cannot update these configs dynamically"),
        (BROKER, "1", ("group.max.size", SET, "many"), 42, "a number is taken"),
        (BROKER, "1", ("group.max.size", APPEND, "1"), 40, "not LIST"),
        (BROKER, "1", ("no.such", SET, "1"), 40, "there is no setting"),
        (BROKER, "2", ("group.max.size", SET, "1"), 42, "Unexpected broker id"),
        (TOPIC, "t", ("retention.ms", SET, "soon"), 40, "retention.ms"),
        (TOPIC, "t", ("retention.ms", SET, None), 42, "Null value"),
        (TOPIC, "no", ("retention.ms", SET, "1"), 3, "does not exist"),
        (GROUP, "g", ("no.such", SET, "1"), 40, "Unknown group config"),
        (GROUP, "", ("consumer.session.timeout.ms", SET, "1"), 42, "not allowed"),
    ],
)
async def test_what_cannot_be_is_refused_with_the_reason(tmp_path, kind, name, step, code, words):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        refused = await alter(peer, kind, name, step)
        assert refused.error_code == code and words in refused.error_message


async def test_a_whole_resource_is_changed_or_nothing_of_it(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        steps = (("segment.bytes", SET, "100"), ("retention.ms", SET, "soon"))
        assert (await alter(peer, TOPIC, "t", *steps)).error_code == 40
        assert peer.broker.topics.registry.get("t").configs == {}
