"""The table of rights is the whole truth: every served API is asked for every right in its row, and needs no other."""

import dataclasses

import pytest

from kaas.broker.security.operations import CLUSTER_NAME, IMPLIED_BY, NEEDS, Kind, Operation
from kaas.broker.security.rules import Rule, Rules
from kaas.wire.apis import (
    APIS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    DESCRIBE_TRANSACTIONS,
    INIT_PRODUCER_ID,
    LIST_GROUPS,
    LIST_TRANSACTIONS,
    METADATA,
    OFFSET_FOR_LEADER_EPOCH,
)
from tests.broker.handlers import consumers
from tests.broker.handlers.groups import QUICK, commit
from tests.broker.handlers.topics import create
from tests.broker.handlers.transactions import add, begin, stage
from tests.broker.security.requests import CONSUMERS, GROUP, SAMPLES, TOPIC, TRANSACTION
from tests.support.in_process import serving

EITHER = {METADATA.key: {Operation.CREATE}, CREATE_TOPICS.key: {Operation.CREATE}}
"""Operations for which one of several rights is enough."""
WHICHEVER = {INIT_PRODUCER_ID.key, LIST_GROUPS.key, OFFSET_FOR_LEADER_EPOCH.key}
"""APIs of which one right of those with one answer is enough."""
HIDDEN = {
    (LIST_GROUPS.key, Kind.CLUSTER): GROUP,
    (LIST_GROUPS.key, Kind.GROUP): GROUP,
    (CREATE_TOPICS.key, Kind.TOPIC): "retention.ms",
    (DESCRIBE_TRANSACTIONS.key, Kind.TOPIC): TOPIC,
    (LIST_TRANSACTIONS.key, Kind.TRANSACTIONAL_ID): TRANSACTION,
}
"""What is left out of an answer where a right that has no refusal is missing."""
CASES = [(key, number) for key, needs in NEEDS.items() for number in range(len(needs))]
GUARDED = [key for key, needs in NEEDS.items() if needs]


def named(key):
    return APIS[key].name


def everything(permission, operation=None, kind=None):
    """Rules about all resources of a kind, or of all."""
    return tuple(
        Rule(
            permission_type=permission,
            principal="User:*",
            operations=["ALL" if operation is None else operation.name],
            resource_type=one.name,
            resource_name="*",
        )
        for one in (Kind if kind is None else [kind])
    )


def put_in_force(broker, *rules):
    broker.rules = Rules(rules, super_users=frozenset(), everyone_if_none=False)


def codes_in(answer):
    """Every error code of an answer."""
    if isinstance(answer, tuple | list):
        return {code for one in answer for code in codes_in(one)}
    if not dataclasses.is_dataclass(answer):
        return set()
    found = set()
    for field in dataclasses.fields(answer):
        value = getattr(answer, field.name)
        found |= {int(value)} if field.name.endswith("error_code") else codes_in(value)
    return found


async def filled(peer):
    """What the samples are about is there."""
    for topic in (TOPIC, "other"):
        await create(peer, topic)
    assert set((await commit(peer, {(TOPIC, 0): 1}, group=GROUP)).values()) == {0}
    assert (await consumers.join(peer, "member", TOPIC, group_id=CONSUMERS)).error_code == 0
    producer = await begin(peer, TRANSACTION)
    assert set((await add(peer, producer, {TOPIC: [0]})).values()) == {0}
    await stage(peer, producer, {(TOPIC, 0): 5}, group=GROUP, version=5)


async def answers(peer, key):
    return [await peer.ask(APIS[key], version, **values) for version, values in SAMPLES[key]]


def lost_with(key, need):
    """The rights that must be missing together before one is missed."""
    if key in WHICHEVER:
        return [one for one in NEEDS[key] if one.refusal is need.refusal]
    if key == DELETE_TOPICS.key:
        everywhere, *_, last = NEEDS[key]
        return [everywhere, last if need is everywhere else need]
    if need.operation in EITHER.get(key, ()):
        return [one for one in NEEDS[key] if one.operation is need.operation]
    return [need]


def test_every_served_api_has_a_row_and_a_sample():
    assert NEEDS.keys() == APIS.keys() == SAMPLES.keys()


@pytest.mark.parametrize(("key", "number"), CASES, ids=lambda value: str(value))
async def test_who_lacks_a_right_hears_what_the_table_says(tmp_path, key, number):
    need = NEEDS[key][number]
    async with serving(tmp_path, **QUICK) as peer:
        await filled(peer)
        denied = [rule for lost in lost_with(key, need) for rule in everything("DENY", lost.operation, lost.kind)]
        put_in_force(peer.broker, *everything("ALLOW"), *denied)
        found = await answers(peer, key)
        if need.refusal is not None:
            assert int(need.refusal) in codes_in(found)
        else:
            assert codes_in(found) <= {0, 29}
            assert HIDDEN[key, need.kind] not in str(found)


@pytest.mark.parametrize("key", GUARDED, ids=named)
async def test_who_may_nothing_learns_nothing(tmp_path, key):
    async with serving(tmp_path, **QUICK) as peer:
        await filled(peer)
        put_in_force(peer.broker)
        found = await answers(peer, key)
        refusals = {int(need.refusal) for need in NEEDS[key] if need.refusal is not None}
        assert codes_in(found) <= {0, *refusals} and (not refusals or codes_in(found) & refusals)
        assert peer.broker.topics.registry.get("new") is None


@pytest.mark.parametrize("key", GUARDED, ids=named)
async def test_who_may_everything_is_refused_nothing(tmp_path, key):
    async with serving(tmp_path, **QUICK) as peer:
        await filled(peer)
        put_in_force(peer.broker, *everything("ALLOW"))
        refusals = {int(need.refusal) for need in NEEDS[key] if need.refusal is not None}
        found = await answers(peer, key)
        assert not codes_in(found) & refusals
        assert all(name in str(found) for (of, _), name in HIDDEN.items() if of == key)


def test_numbers_are_kafkas():
    assert (Operation.READ, Operation.DESCRIBE, Operation.IDEMPOTENT_WRITE) == (3, 8, 12)
    assert (Kind.TOPIC, Kind.GROUP, Kind.CLUSTER, Kind.TRANSACTIONAL_ID) == (2, 3, 4, 5)
    assert CLUSTER_NAME == "kafka-cluster"


def test_what_implies_an_operation_is_another_one():
    assert all(operation not in others for operation, others in IMPLIED_BY.items())
