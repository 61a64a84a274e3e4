"""groups.keys."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.keys import id_of, key_of


@pytest.mark.parametrize(
    ("group_id", "key"),
    [
        ("shop", "shop"),
        ("com.example.app_v1-2", "com.example.app_v1-2"),
        ("", "~"),
        ("a/b", "~YS9i"),
        ("..", "~Li4"),
        ("~tilde", "~fnRpbGRl"),
        ("é", "~w6k"),
        ("apply", "apply"),
    ],
)
def test_plain_ids_stay_and_others_are_encoded(group_id, key):
    assert key_of(group_id) == key and id_of(key) == group_id


@given(st.text())
def test_any_id_is_one_segment_and_comes_back(group_id):
    """Routers refuse an encoded slash, or decode it once more.

    https://github.com/linkedin/Burrow/issues/696
    https://github.com/redpanda-data/console/issues/611
    """
    key = key_of(group_id)
    assert re.fullmatch(r"[A-Za-z0-9~][A-Za-z0-9._~-]*", key)
    assert id_of(key) == group_id


@pytest.mark.parametrize("key", ["", ".", "..", "-x", "~!", "~a", "~_w", "a b", "a/b", "~YS9i=", "é"])
def test_what_stands_for_no_id_is_refused(key):
    with pytest.raises(ValueError, match="no key"):
        id_of(key)
