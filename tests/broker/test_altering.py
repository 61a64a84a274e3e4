"""What both ways of changing settings have in common."""

from types import SimpleNamespace

import pytest

from kaas.broker.altering import RIGHTS, check_right
from kaas.broker.config_rows import Resource
from kaas.broker.security.operations import Kind, Operation
from kaas.broker.security.rules import Rules
from kaas.errors import KafkaError
from kaas.wire.apis import ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS
from tests.broker.handlers.topics import create
from tests.support.in_process import serving

APIS = [ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS]
TOPIC, BROKER, GROUP = Resource


def row(api, kind, name, **values):
    operation = {"config_operation": 0} if api is INCREMENTAL_ALTER_CONFIGS else {}
    configs = [{"name": key.replace("_", "."), "value": value, **operation} for key, value in values.items()]
    return {"resource_type": kind, "resource_name": name, "configs": configs}


async def alter(peer, api, *rows, validate_only=False):
    answer = await peer.ask(api, 1, resources=list(rows), validate_only=validate_only)
    return [(one.resource_type, one.resource_name, int(one.error_code)) for one in answer.responses]


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
async def test_each_resource_has_an_error_of_its_own(tmp_path, api):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        found = await alter(
            peer,
            api,
            row(api, TOPIC, "no", retention_ms="1"),
            row(api, TOPIC, "t", retention_ms="7"),
            row(api, TOPIC, "two words"),
            row(api, BROKER, "1", listeners="x"),
            row(api, BROKER, "", num_partitions="3"),
            row(api, GROUP, "g", no_such="1"),
            row(api, 99, "x"),
        )
        assert [code for _, _, code in found] == [3, 0, 17, 42, 0, 40, 42]
        assert [name for _, name, _ in found] == ["no", "t", "two words", "1", "", "g", "x"]
        assert peer.broker.settings["num.partitions"] == 3


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
async def test_a_resource_that_is_named_twice_is_changed_by_neither_row(tmp_path, api):
    async with serving(tmp_path) as peer:
        twice = [row(api, BROKER, "1", num_partitions=text) for text in ("2", "3")]
        found = await alter(peer, api, *twice, row(api, GROUP, "g", consumer_session_timeout_ms="50000"))
        assert [code for _, _, code in found] == [42, 42, 0]
        assert peer.broker.settings["num.partitions"] == 1


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
async def test_what_is_only_to_be_checked_changes_nothing(tmp_path, api):
    async with serving(tmp_path) as peer:
        found = await alter(peer, api, row(api, BROKER, "1", num_partitions="3"), validate_only=True)
        assert found == [(BROKER, "1", 0)] and peer.broker.settings["num.partitions"] == 1


@pytest.mark.parametrize("kind", Resource)
def test_a_missing_right_has_the_answer_of_its_kind(kind):
    rules = Rules((), super_users=frozenset(), everyone_if_none=False)
    connection = SimpleNamespace(principal="User:a", address="127.0.0.1")
    request = SimpleNamespace(key=ALTER_CONFIGS.key, connection=connection, broker=SimpleNamespace(rules=rules))
    with pytest.raises(KafkaError) as refused:
        check_right(request, Operation.ALTER_CONFIGS, kind, "x")
    assert refused.value.code is RIGHTS[kind][1]


def test_settings_of_a_broker_are_the_clusters():
    assert RIGHTS[Resource.BROKER][0] is Kind.CLUSTER
