"""Generated pages say what the code says."""

from __future__ import annotations

import pytest

from kaasadmin.documents import DOCS, PLACE, SOURCES, TABLES, pages


@pytest.mark.parametrize("name", [source.name for source in SOURCES.glob("*.md")])
def test_a_page_is_up_to_date(name):
    assert (DOCS / name).read_text() == pages()[DOCS / name], "run `make docs`"


def test_every_table_has_a_place_and_every_place_a_table():
    places = {match for source in SOURCES.glob("*.md") for match in PLACE.findall(source.read_text())}
    assert places == set(TABLES)
