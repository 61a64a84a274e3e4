"""What an assignor is asked."""

from __future__ import annotations

import pytest

from tests.coordinator.modern.assignors.asking import request, topic_id


def test_a_request_does_not_change():
    asked = request({"T1": 2}, {"A": ["T1"]}, {"A": {"T1": [0]}}, {"A": "i1"})
    assert asked.members["A"].instance_id == "i1"
    assert asked.members["A"].target == {topic_id("T1"): (0,)}
    with pytest.raises(AttributeError):
        asked.partitions = {}
