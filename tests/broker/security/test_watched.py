"""Files that are taken anew when they change."""

import os

import pytest
import structlog

from kaas.broker.security.watched import BadFile, Watched


def number(data):
    return int(data)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file"


def made(path):
    return Watched(path, number, -1)


def put(path, text):
    """As the broker's own commands write: whole, under another inode."""
    other = path.with_name("other")
    other.write_text(text)
    other.rename(path)


def test_a_file_that_is_not_there_has_its_own_value(path):
    watched = made(path)
    watched.load()
    assert watched.value == -1 and not watched.refresh()


def test_a_file_is_read_at_the_start_and_when_it_is_another_one(path):
    put(path, "1")
    watched = made(path)
    watched.load()
    assert watched.value == 1 and not watched.refresh()
    put(path, "2")
    assert watched.refresh() and watched.value == 2 and not watched.refresh()


def test_a_file_that_comes_later_is_taken(path):
    watched = made(path)
    watched.load()
    put(path, "3")
    assert watched.refresh() and watched.value == 3


def test_a_file_that_is_edited_in_place_is_taken(path):
    path.write_text("1")
    watched = made(path)
    watched.load()
    path.write_text("2")
    os.utime(path, ns=(0, 1))
    assert watched.refresh() and watched.value == 2


def test_a_broken_file_ends_the_start(path):
    put(path, "one")
    with pytest.raises(BadFile, match="file: invalid literal"):
        made(path).load()


@pytest.mark.parametrize("breaks", [lambda path: put(path, "two"), lambda path: path.unlink()])
def test_a_file_that_breaks_or_goes_changes_nothing_and_is_said_once(path, breaks):
    put(path, "1")
    watched = made(path)
    watched.load()
    breaks(path)
    with structlog.testing.capture_logs() as logs:
        assert not watched.refresh() and not watched.refresh()
    assert watched.value == 1 and len(logs) == 1
    put(path, "4")
    assert watched.refresh() and watched.value == 4
