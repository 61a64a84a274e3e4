"""File names of group ids: readable where they can be, one for each id, never outside the folder (K20)."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kaas.storage.names import LONGEST_BYTES, file_stem, id_of_stem
from tests.support.laws import law

ids = st.text(max_size=40) | st.text(min_size=60, max_size=400) | st.text("./~%-aA", max_size=6)


@pytest.mark.parametrize("plain", ["orders", "billing.v2", "a_b-C9", "com.example.app.v1"])
def test_a_plain_id_is_its_own_name(plain):
    assert file_stem(plain) == plain


@pytest.mark.parametrize(
    ("group_id", "stem"),
    [
        ("", "%"),
        ("..", "%2E."),
        (".hidden", "%2Ehidden"),
        ("dc-1/pending", "dc-1%2Fpending"),
        ("a b#c&d", "a%20b%23c%26d"),
        ("100%", "100%25"),
        ("~x", "%7Ex"),
        ("grüße", "gr%C3%BC%C3%9Fe"),
        ("nul\0", "nul%00"),
    ],
)
def test_other_ids_are_percent_encoded(group_id, stem):
    assert file_stem(group_id) == stem


@given(ids)
@example("../../etc/passwd")
@example("/absolute")
@example(".")
@law
def test_no_name_leaves_its_folder(group_id):
    stem = file_stem(group_id)
    assert stem and "/" not in stem and "\0" not in stem and not stem.startswith(".")
    assert stem.isascii() and len(stem) <= LONGEST_BYTES


@given(ids, ids)
@example("a~b", "a%7Eb")
@example("x" * 201, "x" * 202)
@example("%", "")
@law
def test_no_two_ids_share_a_name(one, other):
    assert (file_stem(one) == file_stem(other)) == (one == other)


@given(st.text(max_size=20))
@law
def test_an_id_comes_back_from_its_name(group_id):
    assert id_of_stem(file_stem(group_id)) == group_id


def test_a_long_id_keeps_its_beginning():
    stem = file_stem("team/" + "x" * 400)
    assert stem.startswith("team%2Fxxx") and "~" in stem
    assert id_of_stem(stem).startswith("team/xxx")
