"""Generated pages say what the code says."""

from __future__ import annotations

import ast
import re

import pytest

from kaasadmin.documents import DOCS, PLACE, SOURCES, TABLES, pages


@pytest.mark.parametrize("name", [source.name for source in SOURCES.glob("*.md")])
def test_a_page_is_up_to_date(name):
    assert (DOCS / name).read_text() == pages()[DOCS / name], "run `make docs`"


def test_every_table_has_a_place_and_every_place_a_table():
    places = {match for source in SOURCES.glob("*.md") for match in PLACE.findall(source.read_text())}
    assert places == set(TABLES)


NAMED_TEST = re.compile(r"`((?:\w+/)+test_\w+\.py)::(test_\w+)`")


def functions_in(path):
    """The functions that a file defines, tests among them."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_test_that_a_page_names_exists():
    named = {match for page in DOCS.rglob("*.md") for match in NAMED_TEST.findall(page.read_text())}
    missing = [f"{file}::{name}" for file, name in sorted(named) if name not in functions_in(DOCS.parent / file)]
    assert named and not missing
