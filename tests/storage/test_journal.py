"""The journal: entries come back as they were, a failed batch leaves nothing, no damage makes a wrong entry."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.storage import journal
from kaas.storage.journal import Entry, Fault, Journal, cut_torn_end, encode_entry, files_of, read_file
from tests.support.disk import full_after, refusing
from tests.support.laws import law

texts = st.text(max_size=12)
numbers = st.integers(-(2**63), 2**63 - 1)
any_entry = st.builds(Entry, texts, numbers, numbers, st.binary(max_size=40))


def packed(entry: Entry) -> bytes:
    return encode_entry(entry.group_id, entry.epoch, entry.version, entry.body)


def read(path: Path, newest: bool = True) -> tuple[list[Entry], list[Fault]]:
    items = list(read_file(path, newest=newest))
    return [i for i in items if isinstance(i, Entry)], [i for i in items if isinstance(i, Fault)]


def entries(count: int) -> list[Entry]:
    return [Entry(f"group-{n}", 3, n, bytes([n]) * (n % 7)) for n in range(1, count + 1)]


@pytest.fixture
def writer(tmp_path):
    made = Journal(tmp_path / "1")
    yield made
    made.close()


# Appending


def test_batches_come_back_in_order(writer):
    rows = entries(5)
    writer.append(packed(rows[0]) + packed(rows[1]))
    writer.append(b"".join(packed(row) for row in rows[2:]))
    assert read(writer.file_of(1)) == (rows, [])


def test_a_full_file_is_closed_and_a_new_one_begun(tmp_path):
    writer = Journal(tmp_path, roll_bytes=50)
    rows = entries(4)
    assert [writer.append(packed(row)) for row in rows] == [1, 1, 2, 2]
    assert [number for number, _ in files_of(tmp_path)] == [1, 2]
    assert [read(writer.file_of(n))[0] for n in (1, 2)] == [rows[:2], rows[2:]]
    writer.close()


def test_a_broker_begins_a_new_file_at_each_start(tmp_path):
    for number in (1, 2):
        writer = Journal(tmp_path)
        assert writer.append(packed(entries(1)[0])) == number
        writer.close()


def test_the_numbers_of_files_that_were_set_aside_are_not_used_again(tmp_path):
    (tmp_path / f"{7:020d}.log.corrupt").write_bytes(b"")
    writer = Journal(tmp_path)
    assert writer.append(packed(entries(1)[0])) == 8
    writer.close()


def test_nothing_is_made_before_the_first_entry(tmp_path):
    Journal(tmp_path / "1").close()
    assert list(tmp_path.iterdir()) == []


def test_other_files_in_the_folder_are_no_journal(tmp_path):
    for name in ("x.log", "1.log.bak", "1.txt", ".1.log.tmp", "1.log.corrupt", "00000000000000000002.log"):
        (tmp_path / name).write_bytes(b"")
    assert [path.name for _, path in files_of(tmp_path)] == ["1.log.corrupt", "00000000000000000002.log"]
    assert files_of(tmp_path / "missing") == []


# Failing


@pytest.mark.parametrize("room_bytes", [0, 1, 20])
def test_a_batch_that_does_not_fit_leaves_nothing_behind(writer, room_bytes):
    first, second, third = entries(3)
    writer.append(packed(first))
    with full_after(room_bytes), pytest.raises(OSError, match="no room"):
        writer.append(packed(second))
    assert writer.file_of(1).read_bytes() == packed(first)
    assert writer.append(packed(third)) == 1
    assert read(writer.file_of(1)) == ([first, third], [])


def test_a_batch_that_cannot_be_flushed_leaves_nothing_behind(writer):
    first, second, third = entries(3)
    writer.append(packed(first))
    with mock.patch.object(os, "fdatasync", side_effect=[OSError(errno.EIO, "no"), None]), pytest.raises(OSError):
        writer.append(packed(second))
    writer.append(packed(third))
    assert read(writer.file_of(1)) == ([first, third], [])


def test_nothing_is_appended_behind_a_failed_batch_until_that_is_cut_off(writer):
    """Otherwise what was told to have failed would come back at the next start."""
    first, second, third = entries(3)
    writer.append(packed(first))
    with refusing("fdatasync", "ftruncate"):
        for row in (second, third):
            with pytest.raises(OSError, match="refuses"):
                writer.append(packed(row))
    writer.append(packed(third))
    assert read(writer.file_of(1)) == ([first, third], [])


def test_what_a_failed_batch_left_is_cut_off_when_the_file_is_closed(writer):
    first, second = entries(2)
    writer.append(packed(first))
    with refusing("fdatasync", "ftruncate"), pytest.raises(OSError):
        writer.append(packed(second))
    writer.close()
    assert read(writer.file_of(1)) == ([first], [])


def test_a_file_that_cannot_be_begun_is_an_error_and_the_next_try_is_good(tmp_path):
    writer = Journal(tmp_path)
    (row,) = entries(1)
    with refusing("fsync"), pytest.raises(OSError, match="refuses"):
        writer.append(packed(row))
    writer.append(packed(row))
    assert sum(len(read(path)[0]) for _, path in files_of(tmp_path)) == 1
    writer.close()


# Reading what is damaged


def test_a_torn_end_of_the_newest_file_is_told_as_torn_and_can_be_cut(tmp_path):
    path = tmp_path / "1.log"
    rows = entries(3)
    whole = b"".join(packed(row) for row in rows)
    path.write_bytes(whole[:-1])
    found, (fault,) = read(path)
    assert found == rows[:2] and fault.torn
    assert fault.at_byte == len(whole) - len(packed(rows[2]))
    cut_torn_end(fault)
    assert read(path) == (rows[:2], [])


def test_the_same_end_of_an_older_file_is_corruption(tmp_path):
    path = tmp_path / "1.log"
    rows = entries(3)
    path.write_bytes(b"".join(packed(row) for row in rows)[:-1])
    found, (fault,) = read(path, newest=False)
    assert found == rows[:2] and not fault.torn


def test_a_bad_entry_in_the_middle_is_corruption_and_the_others_are_read(tmp_path):
    path = tmp_path / "1.log"
    first, second, third = (packed(row) for row in entries(3))
    path.write_bytes(first + second[:-1] + bytes([second[-1] ^ 1]) + third)
    found, (fault,) = read(path)
    assert found == [entries(3)[0], entries(3)[2]]
    assert (fault.torn, fault.at_byte, fault.entry.group_id) == (False, len(first), "group-2")


def test_behind_a_length_that_cannot_be_trusted_entries_are_named_and_not_believed(tmp_path):
    """Bytes inside an entry may look like one: a client can put what it likes into the metadata of a commit."""
    path = tmp_path / "1.log"
    forged = packed(Entry("victim", 9, 9, b"forged"))
    rows = [Entry("a", 1, 1, b""), Entry("b", 1, 2, b"metadata" + forged), Entry("c", 1, 3, b"")]
    first, second, third = (packed(row) for row in rows)
    path.write_bytes(first + b"\xff\xff\xff\xff" + second[4:] + third)
    found, faults = read(path)
    assert found == rows[:1]
    assert not any(fault.torn for fault in faults)
    assert {fault.entry.group_id for fault in faults if fault.entry is not None} >= {"victim", "c"}


def test_a_length_that_was_hit_in_the_middle_of_the_newest_file_is_no_torn_end(tmp_path):
    """What follows was acknowledged, and must not be cut off with it."""
    path = tmp_path / "1.log"
    rows = entries(3)
    first, second, third = (packed(row) for row in rows)
    path.write_bytes(first + b"\x7f" + second[1:] + third)
    found, faults = read(path)
    assert found == rows[:1]
    assert [fault.torn for fault in faults] == [False, False]
    assert faults[1].entry == rows[2]


@given(st.lists(any_entry, max_size=6))
@law
def test_entries_come_back_as_they_were(tmp_path, rows):
    path = tmp_path / "1.log"
    path.write_bytes(b"".join(packed(row) for row in rows))
    assert read(path) == (rows, [])


@given(st.lists(any_entry, min_size=1, max_size=6), st.data())
@law
def test_a_file_that_is_cut_anywhere_gives_what_was_whole_and_a_torn_end(tmp_path, rows, data):
    path = tmp_path / "1.log"
    ends = [0]
    for row in rows:
        ends.append(ends[-1] + len(packed(row)))
    cut = data.draw(st.integers(0, ends[-1]))
    path.write_bytes(b"".join(packed(row) for row in rows)[:cut])
    whole = sum(end <= cut for end in ends[1:])
    found, faults = read(path)
    assert found == rows[:whole]
    assert [fault.torn for fault in faults] == ([] if cut in ends else [True])


@given(st.lists(any_entry, min_size=1, max_size=6), st.data())
@law
def test_a_flipped_byte_never_makes_a_wrong_entry_and_is_always_reported(tmp_path, rows, data):
    path = tmp_path / "1.log"
    whole = bytearray(b"".join(packed(row) for row in rows))
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    path.write_bytes(whole)
    found, faults = read(path)
    hit = next(n for n in range(len(rows)) if at < sum(len(packed(row)) for row in rows[: n + 1]))
    assert found[:hit] == rows[:hit]
    assert all(row in rows[hit + 1 :] for row in found[hit:])
    assert faults and all(fault.torn for fault in faults) == (hit == len(rows) - 1)
    told = [fault.entry for fault in faults]
    assert all(row in found or row in told for row in rows[hit + 1 :])


@given(st.binary(max_size=200))
@law
def test_garbage_is_a_fault_and_nothing_else(tmp_path, garbage):
    path = tmp_path / "1.log"
    path.write_bytes(garbage)
    found, faults = read(path)
    assert found == [] and bool(faults) == bool(garbage)


def test_an_entry_whose_checksum_is_right_and_content_is_not_is_a_fault(tmp_path):
    path = tmp_path / "1.log"
    rest = b"\xff\xffshort"
    path.write_bytes(journal.HEAD.pack(len(rest), journal.crc32c(rest)) + rest)
    found, (fault,) = read(path)
    assert found == [] and fault.entry is None
