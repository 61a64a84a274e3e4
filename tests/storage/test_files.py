"""Files that are whole or not there, and what cannot be understood is kept."""

from __future__ import annotations

import threading

import pytest

from kaas.storage import files
from tests.support.disk import refusing


def test_a_file_is_made_and_replaced_whole(tmp_path):
    path = tmp_path / "a.json"
    files.write_whole(path, b"one")
    files.write_whole(path, b"another")
    assert path.read_bytes() == b"another"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("call", ["fdatasync", "replace"])
def test_an_error_leaves_the_old_file_and_no_temporary_one(tmp_path, call):
    path = tmp_path / "a.json"
    files.write_whole(path, b"old")
    with refusing(call), pytest.raises(OSError, match="refuses"):
        files.write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_flushed_is_an_error(tmp_path):
    with refusing("fsync"), pytest.raises(OSError, match="refuses"):
        files.write_whole(tmp_path / "a", b"x")


def test_files_are_written_aside_and_put_in_place_one_by_one(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"before")
    asides = [files.Aside(path, b"after") for path in (old, new)]
    asides[0].flush()
    assert old.read_bytes() == b"before" and not new.exists()
    asides[0].put()
    assert old.read_bytes() == b"after"
    with refusing("fdatasync"), pytest.raises(OSError, match="refuses"):
        asides[1].flush()
    assert list(tmp_path.iterdir()) == [old]


def test_temporary_names_are_unique_hidden_and_in_the_same_folder(tmp_path):
    """K7: two commits shared one temporary file."""
    path = tmp_path / ("n" * 250)
    names = {files.temporary_name(path) for _ in range(100)}
    assert len(names) == 100
    assert all(n.parent == tmp_path and n.name.startswith(".") and n.suffix == files.TEMPORARY for n in names)
    assert all(len(n.name) < 120 for n in names)


def test_what_is_set_aside_says_so_and_is_never_overwritten(tmp_path):
    """K8: a corrupt file was overwritten."""
    path = tmp_path / "a.json"
    asides = []
    for text in (b"1", b"2", b"3"):
        path.write_bytes(text)
        asides.append(files.set_aside(path))
    assert [(p.name, p.read_bytes()) for p in asides] == [
        ("a.json.corrupt", b"1"),
        ("a.json.corrupt-2", b"2"),
        ("a.json.corrupt-3", b"3"),
    ]
    assert not path.exists()
    assert {files.name_before(p) for p in asides} == {"a.json"}


@pytest.mark.parametrize(
    ("name", "before"),
    [
        ("a.json", None),
        ("a.json.corrupt", "a.json"),
        ("a.json.corrupt-12", "a.json"),
        ("a.json.corrupt-x", None),
        ("a.json.corrupt.json", None),
        ("a.json.corrupt.json.corrupt", "a.json.corrupt.json"),
    ],
)
def test_the_name_before_is_found_again(tmp_path, name, before):
    assert files.name_before(tmp_path / name) == before


def test_one_at_a_time_holds_a_lock_file(tmp_path):
    inside, order = threading.Event(), []

    def second():
        inside.wait()
        with files.exclusive(tmp_path / "x.lock"):
            order.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    with files.exclusive(tmp_path / "x.lock"):
        inside.set()
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_lock_is_let_go_by_an_error(tmp_path):
    with pytest.raises(ValueError), files.exclusive(tmp_path / "x.lock"):
        raise ValueError
    with files.exclusive(tmp_path / "x.lock"):
        pass


def test_each_broker_has_a_lock_of_its_own(tmp_path):
    assert files.broker_lock(tmp_path, 1) != files.broker_lock(tmp_path, "2")


@pytest.mark.parametrize("size", [0, 1, files.READ_BYTES - 1, files.READ_BYTES, 3 * files.READ_BYTES + 5])
def test_a_file_is_read_to_its_end(tmp_path, size):
    data = bytes(range(256)) * (size // 256 + 1)
    files.write_whole(tmp_path / "f", data[:size])
    assert files.read_whole(tmp_path / "f") == data[:size]


def test_a_file_that_is_not_there_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError):
        files.read_whole(tmp_path / "f")
