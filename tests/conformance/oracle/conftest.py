"""The oracle: each test states what a Kafka coordinator must do, and was seen to hold on Apache Kafka 4.2.1.

It runs against our broker in the suite and against both in `make oracle`, so that no statement is bent towards us. Every test
makes its own groups and topics.
"""

import uuid

import pytest

from tests.conformance.oracle.calls import ask, create_topic, served
from tests.conformance.oracle.records import batch, produce
from tests.conformance.oracle.transactions import init
from tests.conformance.oracle.wire import Client, Closed
from tests.support.waiting import until

WARM_GROUPS = tuple(f"warm-up-{i}" for i in range(500))  # enough names to meet every partition of the offsets topic
KEPT = {"retention.ms": "-1"}
"""Records may be of 1970 and stay, however long the tests take."""
warm = set()


@pytest.fixture
def connect(bootstrap):
    """Opens connections to the broker; all are closed after the test."""
    opened = []

    def make(timeout=10.0):
        opened.append(Client(bootstrap, timeout))
        return opened[-1]

    yield make
    for client in opened:
        client.close()


@pytest.fixture
def c(connect):
    """A connection."""
    return connect()


@pytest.fixture(scope="module")
def ready(bootstrap):
    """The coordinator answers: a fresh Apache broker makes its internal topic on the first question, then loads partitions."""
    if bootstrap in warm:
        return
    with Client(bootstrap) as c:
        until(lambda: c.call("FindCoordinator", 2, key="warm-up", key_type=0).error_code == 0, 60)
        asked = {"groups": WARM_GROUPS, "include_authorized_operations": False}
        until(lambda: not any(g.error_code for g in c.call("DescribeGroups", 5, **asked).groups), 60)
    warm.add(bootstrap)


@pytest.fixture(scope="module")
def transactional(bootstrap, ready):
    """The transaction coordinator answers, for every partition of its internal topic. Skips where there is none."""
    with Client(bootstrap) as c:
        served(c, "EndTxn", 3)
        until(lambda: ask(c, "FindCoordinator", 2, key="warm-up", key_type=1).error_code == 0, 60)
        until(lambda: all(init(c, f"warm-up-{i}")[0] == 0 for i in range(100)), 60)


@pytest.fixture
def group(ready):
    """The name of a new group."""
    return f"oracle-{uuid.uuid4().hex[:10]}"


@pytest.fixture(scope="module")
def lasting(bootstrap, ready):
    """A topic with three partitions that no test deletes."""
    with Client(bootstrap) as c:
        return create_topic(c, 3)


@pytest.fixture(scope="module")
def second(bootstrap, ready):
    """Another one, with one partition."""
    with Client(bootstrap) as c:
        return create_topic(c)


@pytest.fixture
def topic(c, ready):
    """A topic with one partition, of this test alone."""
    return create_topic(c, **KEPT)


@pytest.fixture(scope="module")
def written(bootstrap, ready):
    """A topic with three batches of two records, offsets 0 to 5, timestamps 1000 to 6000; no test changes it."""
    with Client(bootstrap) as c:
        name = create_topic(c, **KEPT)
        for i in (0, 2, 4):
            assert produce(c, name, batch(f"v{i}", f"v{i + 1}", at=[1000 * (i + 1), 1000 * (i + 2)])).base_offset == i
        return name


@pytest.fixture
def closes(connect, ready):
    """closes(bytes): a new connection that sends them is closed without an answer, and one made before goes on."""
    bystander = connect()
    assert ask(bystander, "Metadata", 1, topics=[]).brokers

    def check(data):
        one = connect()
        one.socket.sendall(data)
        with pytest.raises(Closed):
            one.recv_raw(5)
        assert ask(bystander, "Metadata", 1, topics=[]).brokers

    return check
