"""Real clients of the suite: a part of what `python -m tests.conformance.clients` plays.

Each scenario says in one line what it proves. Partitions that members own are compared as sets (together all of them, no one
twice) and records by their keys (none lost), not by counts.
"""

import pytest

from tests.conformance.clients.harness import runner
from tests.conformance.clients.harness.scenarios.table import TABLE
from tests.conformance.clients.peer import CACHE, our_broker
from tests.support.require import lacking

SUITE = (
    "split.java",
    "split.librdkafka",
    "split.kafka-python",
    "split.aiokafka",
    "split.java.consumer",
    "split.franz-go.consumer",
    "crowd.librdkafka",
    "migrate.java",
    "static.java",
    "static.librdkafka",
    "static.librdkafka.consumer",
    "held.java.consumer",
    "twins.kafka-python",
    "keep.java",
    "keep.librdkafka",
    "keep.java.consumer",
    "restart.librdkafka",
    "restart.librdkafka.consumer",
    "restart.aiokafka",
    "codecs.java",
    "offsets.librdkafka",
    "admin.java",
    "tool.describe.classic",
    "tool.describe.consumer",
    "tool.verifiable",
    "tool.console",
)
SLACK = 3.0
"""Other tests share the machine."""

pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """All are played at once, a few at a time; each test then looks at its own."""
    with our_broker(tmp_path_factory.mktemp("clients") / "data") as broker:
        run = runner.Run(broker.address, CACHE, slack=SLACK)
        return run.play([TABLE.rows[name] for name in SUITE])


@pytest.mark.parametrize("name", SUITE)
def test_a_real_client_sees_what_it_sees_of_apache_kafka(verdicts, name):
    verdict = verdicts[name]
    if verdict.verdict == runner.SKIP:
        lacking(verdict.reason)
    assert verdict.verdict == runner.PASS, verdict.reason


def test_every_scenario_says_what_it_proves():
    assert all(row.about and row.needs for row in TABLE.rows.values())
