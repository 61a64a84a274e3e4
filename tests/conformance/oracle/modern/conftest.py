"""Groups and topics for the oracle of KIP-848: a group's coordinator knows a topic some time after it was made."""

import uuid

import pytest

from tests.conformance.oracle.calls import ask, create_topic, delete_topic, topic_id
from tests.conformance.oracle.modern.groups import IDS, NAMES, SETTINGS, ConsumerGroup, Member
from tests.support.waiting import until


@pytest.fixture(scope="module")
def bootstrap(peer, peers):
    """The address of the peer, whose times are short."""
    return peers.address(peer, SETTINGS)


@pytest.fixture
def group(ready):
    return f"oracle-{uuid.uuid4().hex[:10]}-Aa"


def twin(group):
    """Another group that the same partition of the offsets topic serves: both names have one Java hash."""
    return group[:-2] + "BB"


@pytest.fixture
def cg(connect, group):
    return ConsumerGroup(connect, group)


def known(c, group, name, held):
    """Waits until the group's coordinator knows the partitions of a topic: a member of the twin group is assigned them all."""
    scout = Member(c, twin(group), [name])
    scout.join()
    until(lambda: scout.beat() and scout.held == held)
    scout.leave()


@pytest.fixture
def topic(connect, group):
    """Makes topics that the group's coordinator knows: topic(partitions=2) -> name."""
    c = connect()

    def make(partitions=1, name=None):
        name = create_topic(c, partitions, name)
        IDS[name] = topic_id(c, name)
        NAMES[IDS[name]] = name
        known(c, group, name, {name: list(range(partitions))})
        return name

    return make


@pytest.fixture
def grow(connect, group):
    """Adds partitions: grow(topic, 5), and waits until the group's coordinator knows."""
    c = connect()

    def make(name, partitions):
        answer = ask(c, "CreatePartitions", 3, timeout=10_000, topics=[{"name": name, "count": partitions}])
        assert answer.results[0].error_code == 0, answer
        known(c, group, name, {name: list(range(partitions))})

    return make


@pytest.fixture
def drop(connect, group):
    """Deletes a topic, and waits until the group's coordinator knows."""
    c = connect()

    def make(name):
        delete_topic(c, name)
        known(c, group, name, {})

    return make
