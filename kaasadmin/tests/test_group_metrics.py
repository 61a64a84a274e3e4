"""kaasadmin.group_metrics."""

from __future__ import annotations

import time

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from groups.index import GroupIndex
from groups.testing.feed import snapshot
from kaas.feed.types import TopicView
from kaasadmin.group_metrics import HELP, escaped, group_lines


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")))
def test_a_label_is_escaped_as_the_client_library_does(value):
    registry = CollectorRegistry()
    Gauge("g", "help", ["label"], registry=registry).labels(label=value).set(1)
    assert f'g{{label="{escaped(value)}"}} 1.0\n' in generate_latest(registry).decode()


def test_halves_of_characters_leave_the_rest_readable():
    assert escaped("a\ud800b") == "a?b"


def test_without_groups_there_are_families_without_samples():
    families = list(text_string_to_metric_families("\n".join(group_lines([("local", [])])) + "\n"))
    assert {family.name for family in families} == set(HELP) and not any(family.samples for family in families)


def test_ten_thousand_groups_take_less_than_300_ms_of_work():
    index = GroupIndex()
    view = TopicView(topic="orders", topic_id=None, at=1, partitions=[(0, 20, 20)] * 10)
    index.topic("orders", msgspec.json.encode(view))
    for number in range(10_000):
        offsets = {("orders", partition): 4 for partition in range(10)}
        index.put(msgspec.json.encode(snapshot(f"group-{number}", offsets=offsets)))
    began = time.thread_time()
    lines = list(group_lines([("local", index.all())]))
    assert len(lines) == 40_000 + 2 * len(HELP) and time.thread_time() - began < 0.3
