import gc
import os
from pathlib import Path
from threading import Thread

import pytest

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.files import Handle, OpenFiles, StoredFile, storage_errors
from tests.storage.log.making import disk_takes


@pytest.fixture
def file(open_files, tmp_path):
    return StoredFile(open_files, str(tmp_path / "one.log"))


def descriptors() -> int:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


def test_what_is_written_is_read_at_its_place(file):
    file.write([b"abc", bytearray(b"def"), memoryview(b"ghi")], 0)
    file.write([b"XY"], 4)
    assert (file.read(100, 0), file.read(3, 3), file.read(5, 9)) == (b"abcdXYghi", b"dXY", b"")


def test_many_buffers_are_one_write(file):
    buffers = [bytes([i % 251]) * 3 for i in range(2000)]
    file.write(buffers, 5)
    assert file.read(7000, 5) == b"".join(buffers)


def test_a_write_that_the_disk_cuts_short_raises_and_the_file_can_be_cut_back(file):
    file.write([b"before"], 0)
    with disk_takes(4096), pytest.raises(OSError):
        file.write([b"x" * 3000, b"y" * 3000], 6)
    file.truncate(6)
    assert file.read(9999, 0) == b"before"
    file.write([b"after"], 6)
    assert file.read(9999, 0) == b"beforeafter"


def test_no_more_files_are_open_than_the_limit(tmp_path):
    open_files, before = OpenFiles(limit=3), descriptors()
    files = [StoredFile(open_files, str(tmp_path / f"{i}")) for i in range(10)]
    for i, one in enumerate(files):
        one.write([str(i).encode()], 0)
    assert (len(open_files), descriptors() - before) == (3, 3)
    assert [one.read(9, 0) for one in files] == [str(i).encode() for i in range(10)]
    assert descriptors() - before == 3


def test_the_least_recently_used_file_is_closed_first(tmp_path):
    open_files = OpenFiles(limit=2)
    one, two, three = (StoredFile(open_files, str(tmp_path / name)) for name in "abc")
    for file in (one, two, one, three):
        file.write([b"x"], 0)
    assert [open_files.get(file) is not None for file in (one, two, three)] == [True, False, True]


def test_a_file_that_was_removed_is_read_on_by_who_has_it_and_gone_for_all_others(file, open_files):
    file.write([b"kept"], 0)
    handle = open_files.get(file)
    file.remove()
    assert os.pread(handle.descriptor, 9, 0) == b"kept"
    with pytest.raises(FileNotFoundError):
        file.read(4, 0)
    file.remove()


def test_another_file_at_the_same_path_is_not_read(file, open_files):
    file.write([b"mine"], 0)
    other = StoredFile(open_files, file.path + ".new")
    other.write([b"not mine"], 0)
    other.move(file.path)
    file.close()
    with pytest.raises(FileNotFoundError):
        file.read(4, 0)
    assert other.read(9, 0) == b"not mine"


def test_another_file_that_got_the_inode_of_a_retired_one_is_not_read(file, open_files):
    """A file system gives a free number away again at once, and a reader may come late."""
    file.write([b"old"], 0)
    file.retire()
    Path(file.path).write_bytes(b"new")  # the same inode, as after two compactions
    with pytest.raises(FileNotFoundError):
        file.read(3, 0)


def test_a_file_that_is_gone_is_not_made_again_by_a_write(file):
    file.write([b"x"], 0)
    file.remove()
    with pytest.raises(FileNotFoundError):
        file.write([b"y"], 0)
    assert not Path(file.path).exists()


def test_a_file_is_read_without_the_right_to_write(file, monkeypatch):
    file.write([b"x"], 0)
    file.close()
    opened = []
    real = os.open
    monkeypatch.setattr(os, "open", lambda path, flags, mode: opened.append(flags) or real(path, flags, mode))
    assert file.read(1, 0) == b"x"
    assert not opened[0] & (os.O_RDWR | os.O_CREAT)


def test_readers_beside_a_crowd_of_other_files_read_their_own_bytes(tmp_path):
    open_files, wrong = OpenFiles(limit=2), []
    files = [StoredFile(open_files, str(tmp_path / f"{i}")) for i in range(8)]
    for i, one in enumerate(files):
        one.write([bytes([i]) * 100], 0)

    def read_all() -> None:
        for _ in range(200):
            wrong.extend(i for i, one in enumerate(files) if one.read(100, 0) != bytes([i]) * 100)

    threads = [Thread(target=read_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_handle_closes_with_its_last_reference(tmp_path):
    before = descriptors()
    handle = Handle(str(tmp_path / "x"), writable=True, create=True)
    assert descriptors() == before + 1
    del handle
    assert descriptors() == before
    with pytest.raises(FileNotFoundError):
        Handle(str(tmp_path / "y"), writable=True, create=False)


def test_names_are_synchronised_with_the_disk(file, tmp_path):
    file.write([b"x"], 0)
    file.sync()
    file.sync_name()
    with pytest.raises(FileNotFoundError):
        StoredFile(OpenFiles(), str(tmp_path / "missing" / "one.log")).sync_name()


def test_an_error_of_the_disk_is_what_a_client_is_told():
    with pytest.raises(KafkaError) as raised, storage_errors():
        raise OSError(28, "No space left on device")
    assert raised.value.code == ErrorCode.KAFKA_STORAGE_ERROR and "No space" in raised.value.message
