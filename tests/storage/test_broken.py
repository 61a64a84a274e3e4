"""Groups whose state cannot be read, found again by id whatever their names look like."""

from __future__ import annotations

from kaas.storage.broken import BrokenGroups
from kaas.storage.names import file_stem

LONG = "x" * 500


def test_a_group_is_broken_by_its_file_name_and_no_other_is():
    broken = BrokenGroups()
    for group_id in ("orders", "dc/1", "", LONG):
        broken.add(file_stem(group_id), "corrupt")
    assert all(group_id in broken for group_id in ("orders", "dc/1", "", LONG))
    assert not any(group_id in broken for group_id in ("order", "dc", LONG + "x", "%"))
    assert broken["dc/1"] == "corrupt" and broken.get("fine") is None


def test_ids_are_told_as_far_as_they_are_known():
    broken = BrokenGroups()
    assert not broken and len(broken) == 0
    broken.add(file_stem("dc/1"), "corrupt")
    broken.add(file_stem(LONG), "corrupt")
    first, second = broken
    assert first == "dc/1" and second.startswith("xxxx")
    assert len(broken) == 2


def test_the_reason_that_came_first_stays():
    broken = BrokenGroups()
    broken.add("orders", "first")
    broken.add("orders", "second")
    assert broken["orders"] == "first"
