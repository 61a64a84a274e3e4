"""Topics, brokers and groups as things whose settings can be changed."""

import asyncio

import pytest

from kaas.broker.config_rows import Resource
from kaas.broker.config_targets import alter, target_of
from kaas.errors import ErrorCode, KafkaError
from tests.broker.handlers.topics import create
from tests.support.disk import refusing
from tests.support.in_process import serving


async def altered(broker, kind, name, changes, *, validate_only=False):
    """The result of a change."""
    result = asyncio.get_running_loop().create_future()
    target = target_of(broker, kind, name)
    alter(broker, target, lambda _: changes, result.set_result, validate_only=validate_only)
    return await result


CHANGES = [
    (Resource.TOPIC, "t", {"retention.ms": "7"}),
    (Resource.BROKER, "1", {"num.partitions": "7"}),
    (Resource.BROKER, "", {"num.partitions": "7"}),
    (Resource.GROUP, "g", {"consumer.session.timeout.ms": "50000"}),
]


@pytest.mark.parametrize(("kind", "name", "changes"), CHANGES)
async def test_a_change_is_seen_and_can_be_taken_back(tmp_path, kind, name, changes):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        assert not isinstance(await altered(peer.broker, kind, name, changes), KafkaError)
        assert dict(target_of(peer.broker, kind, name).present()) == changes
        await altered(peer.broker, kind, name, dict.fromkeys(changes))
        assert dict(target_of(peer.broker, kind, name).present()) == {}


@pytest.mark.parametrize(("kind", "name", "changes"), CHANGES)
async def test_what_is_only_to_be_checked_changes_nothing(tmp_path, kind, name, changes):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        assert await altered(peer.broker, kind, name, changes, validate_only=True) is None
        assert dict(target_of(peer.broker, kind, name).present()) == {}
        wrong = await altered(peer.broker, kind, name, dict.fromkeys(changes, "soon"), validate_only=True)
        assert wrong.code in (ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_CONFIG)


@pytest.mark.parametrize(("kind", "name", "changes"), CHANGES)
async def test_a_change_that_the_disk_refuses_is_none(tmp_path, kind, name, changes):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        with refusing("fsync"):
            refusal = await altered(peer.broker, kind, name, changes)
        assert refusal.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert dict(target_of(peer.broker, kind, name).present()) == {}


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (Resource.TOPIC, "", ErrorCode.INVALID_REQUEST),
        (Resource.TOPIC, "two words", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (Resource.BROKER, "x", ErrorCode.INVALID_REQUEST),
        (Resource.BROKER, "7", ErrorCode.INVALID_REQUEST),
        (Resource.GROUP, "", ErrorCode.INVALID_REQUEST),
        (8, "1", ErrorCode.INVALID_REQUEST),
    ],
)
async def test_a_resource_that_cannot_be_is_refused(tmp_path, kind, name, code):
    async with serving(tmp_path) as peer:
        with pytest.raises(KafkaError) as refused:
            target_of(peer.broker, kind, name)
        assert refused.value.code is code


async def test_a_topic_that_is_not_there_is_refused(tmp_path):
    async with serving(tmp_path) as peer:
        refusal = await altered(peer.broker, Resource.TOPIC, "t", {"retention.ms": "7"})
        assert refusal.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_lists_are_known_with_what_is_in_force(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", cleanup_policy="compact")
        topic = target_of(peer.broker, Resource.TOPIC, "t")
        assert topic.is_list("cleanup.policy") and topic.in_force("cleanup.policy") == "compact"
        assert not topic.is_list("retention.ms") and not topic.is_list("no.such")
        broker = target_of(peer.broker, Resource.BROKER, "")
        assert broker.is_list("log.cleanup.policy") and broker.in_force("log.cleanup.policy") == "delete"
        group = target_of(peer.broker, Resource.GROUP, "g")
        assert not group.is_list("consumer.session.timeout.ms")
        assert group.in_force("consumer.session.timeout.ms") == "45000"


async def test_a_time_of_a_group_that_the_broker_does_not_allow_is_refused(tmp_path):
    async with serving(tmp_path) as peer:
        refusal = await altered(peer.broker, Resource.GROUP, "g", {"consumer.session.timeout.ms": "9"})
        assert refusal.code is ErrorCode.INVALID_CONFIG and "group.consumer.min.session.timeout.ms" in refusal.message
        assert target_of(peer.broker, Resource.GROUP, "g").present() == {}


async def test_a_group_without_a_time_of_its_own_has_the_one_of_all_groups(tmp_path):
    async with serving(tmp_path, group_consumer_session_timeout_ms=50_000) as peer:
        assert target_of(peer.broker, Resource.GROUP, "g").in_force("consumer.session.timeout.ms") == "50000"
