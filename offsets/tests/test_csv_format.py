"""offsets.csv_format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.problems import Problem
from offsets.csv_format import csv_from_offsets, offsets_from_csv

TOPICS = st.text(
    st.characters(codec="ascii", exclude_characters=" \t\r\n\x0b\x0c\x1c\x1d\x1e\x1f\x00"), min_size=1, max_size=9
)
OFFSETS = st.dictionaries(st.tuples(TOPICS, st.integers(0, 2**31 - 1)), st.integers(0, 2**63 - 1))


@given(OFFSETS)
def test_what_is_written_is_read_again(offsets):
    assert offsets_from_csv(csv_from_offsets(offsets)) == offsets


@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        ("", {}),
        ("\n\n", {}),
        ("orders,0,7\norders,1,1\n", {("orders", 0): 7, ("orders", 1): 1}),
        ("orders,0,7", {("orders", 0): 7}),
        ("orders, 0, 7\r\n", {("orders", 0): 7}),
        ('"orders",0,7', {("orders", 0): 7}),
    ],
)
def test_lines_as_kafkas_tool_writes_them(text, offsets):
    assert offsets_from_csv(text) == offsets


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a,b", "Line 1"),
        ("orders,0,1\na,b", "Line 2"),
        ("orders,0,7,8", "expected topic,partition,offset"),
        (",0,7", "expected"),
        ("orders,-1,7", "no partition"),
        ("orders,2147483648,7", "no partition"),
        ("orders,0,-1", "no offset"),
        ("orders,0,9223372036854775808", "no offset"),
        ("orders,0,²", "no offset"),
        ("orders,0," + "9" * 5_000, "no offset"),
        ("orders,0,7\norders,0,8", "twice"),
        ('"orders,0,7', "cannot be used"),
    ],
)
def test_a_line_that_is_none_names_itself(text, why):
    with pytest.raises(Problem, match=why) as refused:
        offsets_from_csv(text)
    assert refused.value.kind.status == 400
