"""The same sequences of requests to a real Apache Kafka broker and to ours: a short run of the differential fuzzer."""

import asyncio
import inspect
import re

import pytest

from tests.conformance.differential import excuses
from tests.conformance.differential.consumer_steps import (
    DESCRIBE,
    HEARTBEAT,
    LESS,
    MORE,
    NOTHING,
    TOLD,
    ConsumerScript,
)
from tests.conformance.differential.fuzzer import compare
from tests.conformance.differential.player import CLASSIC, CONSUMERS
from tests.conformance.differential.steps import Script
from tests.conformance.peers import APACHE, OURS
from tests.support.broker import ROOT

SEQUENCES = 120

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize("kind", [CLASSIC, CONSUMERS], ids=["classic", "consumers"])
def test_both_brokers_do_the_same(peers, kind):
    report = asyncio.run(compare(peers.address(APACHE, {}), peers.address(OURS, {}), range(SEQUENCES), kind))
    assert report.sequences == SEQUENCES and not report.differences, str(report)


def test_a_broker_that_does_otherwise_is_found_out(peers):
    one, other = peers.address(OURS, {}), peers.address(OURS, {"group.max.size": 1})
    report = asyncio.run(compare(one, other, range(30), stop_after=1))
    assert report.differences and "81" in str(report.differences[0])


def test_a_broker_that_treats_consumer_groups_otherwise_is_found_out(peers):
    one, other = peers.address(OURS, {}), peers.address(OURS, {"group.consumer.max.size": 1})
    report = asyncio.run(compare(one, other, range(30), CONSUMERS, stop_after=1))
    assert report.differences and "81" in str(report.differences[0])


@pytest.mark.parametrize("kind", [CLASSIC, CONSUMERS], ids=["classic", "consumers"])
def test_two_brokers_of_one_kind_do_not_differ(peers, kind):
    one, other = peers.address(OURS, {}), peers.address(OURS, {"num.partitions": 2})
    report = asyncio.run(compare(one, other, range(40), kind))
    assert not report.differences and not report.excused, str(report)


@pytest.mark.parametrize("script", [Script, ConsumerScript])
def test_a_seed_names_a_sequence(script):
    assert script(7).steps == script(7).steps != script(8).steps


def test_sequences_of_consumer_groups_reach_every_kind_of_heartbeat():
    asked = [step for seed in range(200) for step in ConsumerScript(seed).steps]
    beats = [step.more for step in asked if step.what == HEARTBEAT]
    assert {more.get("epoch") for more in beats} >= {None, 0, -1, -2, -3}
    assert {more.get("owned") for more in beats} == {None, TOLD, LESS, MORE, NOTHING}
    assert {more["lost"] for more in beats} == {True, False} and any(more.get("regex") for more in beats)
    assert {step.what for step in asked} >= {DESCRIBE, "describe", "list", "commit", "fetch", "leave", "delete group"}


def test_sequences_reach_every_kind_of_request():
    asked = {(step.what, step.version) for seed in range(200) for step in Script(seed).steps}
    assert {("join", v) for v in range(10)} | {("sync", v) for v in range(6)} <= asked
    assert {("commit", v) for v in range(2, 10)} | {("fetch", v) for v in range(1, 10)} <= asked
    assert {what for what, _ in asked} >= {"heartbeat", "leave", "describe", "list", "delete offsets", "delete group"}


def test_every_difference_that_is_excused_was_decided_on():
    pages = {path.name[:4] for path in (ROOT / "docs" / "decisions").glob("*.md")}
    for rule in (*excuses.RULES, excuses.pinned):
        named = set(re.findall(r"\b\d{4}\b", inspect.getsource(rule)))
        assert named and named <= pages, rule.__name__
