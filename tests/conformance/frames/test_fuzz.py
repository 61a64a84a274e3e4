"""Whatever bytes come, the broker lives, answers so that it can be read, and disturbs nobody else."""

import asyncio
import random
import struct

import pytest

from kaas.wire.apis import APIS, JOIN_GROUP
from tests.conformance.frames.fuzzer import BadAnswer, check_answer, fuzz
from tests.conformance.frames.mutations import DAMAGES, Requests, framed, head
from tests.conformance.frames.run import SETTINGS, faults
from tests.conformance.oracle.calls import ask
from tests.conformance.oracle.wire import Client
from tests.support.broker import BrokerProcess
from tests.support.waiting import until

COUNT = 6_000
GROWTH_BYTES = 24 * 2**20

pytestmark = pytest.mark.timeout(600)


def test_damaged_requests_of_every_api_do_no_harm(start_broker):
    broker = start_broker(SETTINGS)
    asyncio.run(fuzz(broker.port, Requests(1), COUNT))  # every reader and writer is built
    before = broker.resident_bytes()
    ran = asyncio.run(fuzz(broker.port, Requests(2), COUNT))
    assert broker.is_alive and ran.problems == [] and faults(broker.log) == []
    assert ran.counts["answered"] > 0 and ran.counts["closed"] > 0
    assert broker.resident_bytes() - before < GROWTH_BYTES


@pytest.mark.parametrize("key", APIS, ids=lambda key: APIS[key].name)
def test_an_array_that_claims_millions_allocates_nothing(lasting_broker, key):
    """In every version, at every place of the body where a length may stand."""
    broker, before = lasting_broker, lasting_broker.resident_bytes()
    for version in range(APIS[key].min_version, APIS[key].max_version + 1):
        for at in range(24):
            for said in (struct.pack(">i", 2**31 - 1), struct.pack(">i", 2**27), b"\xff\xff\xff\xff\x07"):
                with Client(broker.address) as client:
                    client.send_raw(head(key, version, 1) + b"\0" * at + said)
    until(lambda: ask_versions(broker))
    assert broker.is_alive and broker.resident_bytes() - before < GROWTH_BYTES


def ask_versions(broker):
    with Client(broker.address) as client:
        return ask(client, "ApiVersions", 0).error_code == 0


@pytest.fixture(scope="module")
def lasting_broker(tmp_path_factory):
    """One broker for many tests, which it must survive."""
    with BrokerProcess(tmp_path_factory.mktemp("frames") / "data", SETTINGS) as broker:
        yield broker


def test_the_same_seed_makes_the_same_requests():
    one, two = Requests(5), Requests(5)
    assert [next(one) for _ in range(300)] == [next(two) for _ in range(300)]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_each_damage_takes_bytes_of_any_length(damage):
    dice = random.Random(1)
    for size in (0, 1, 2, 50):
        assert isinstance(damage(bytearray(size), dice), bytearray)


def test_an_answer_that_cannot_be_read_would_be_seen():
    frame = framed(head(JOIN_GROUP.key, 5, 7) + b"body")
    with pytest.raises(BadAnswer):
        check_answer(frame, struct.pack(">i", 7) + b"\xff")
    with pytest.raises(BadAnswer):
        check_answer(frame, struct.pack(">i", 8) + b"\0" * 40)
    with pytest.raises(BadAnswer):
        check_answer(framed(b"\0\0"), struct.pack(">i", 8))
