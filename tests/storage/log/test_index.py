import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.storage.log.files import OpenFiles, StoredFile
from kaas.storage.log.index import OFFSET_PAIR, TIME_PAIR, Index

rising = st.lists(st.integers(0, 2**31 - 1), unique=True, max_size=30).map(sorted)


@pytest.fixture
def file(open_files, tmp_path):
    return StoredFile(open_files, str(tmp_path / "0.index"))


def filled(file, pairs, layout=OFFSET_PAIR) -> Index:
    index = Index.new(file, layout)
    for key, value in pairs:
        index.add(key, value)
    return index


def expected_floor(pairs, key):
    below = [pair for pair in pairs if pair[0] <= key]
    return below[-1] if below else None


@given(rising, st.integers(-1, 2**31))
def test_the_floor_is_the_last_pair_that_is_not_above(keys, wanted):
    pairs = [(key, i) for i, key in enumerate(keys)]
    index = filled(StoredFile(OpenFiles(), "unused"), pairs)
    assert index.floor(wanted) == expected_floor(pairs, wanted)
    assert (len(index), index.last) == (len(pairs), pairs[-1] if pairs else None)


def test_a_saved_index_is_looked_up_in_its_file(file, open_files):
    pairs = [(10 * i, 100 * i) for i in range(1, 50)]
    index = filled(file, pairs)
    index.save()
    index.release()
    stored = Index.stored(StoredFile(open_files, file.path), OFFSET_PAIR, index.size)
    for key in (0, 9, 10, 11, 250, 490, 9999):
        assert index.floor(key) == stored.floor(key) == expected_floor(pairs, key)
    assert stored.last == (490, 4900)


def test_times_are_eight_bytes_and_offsets_four(file):
    index = filled(file, [(2**40, 5)], TIME_PAIR)
    index.save()
    index.sync()
    assert file.read(99, 0) == (2**40).to_bytes(8) + (5).to_bytes(4)


def test_a_stored_index_grows_after_it_was_loaded(file):
    filled(file, [(1, 10), (2, 20)]).save()
    again = Index.stored(file, OFFSET_PAIR, 16)
    again.add(3, 30)
    again.save()
    assert Index.stored(file, OFFSET_PAIR, 24).floor(3) == (3, 30)


def test_a_torn_pair_at_the_end_is_left_out(file):
    filled(file, [(1, 10), (2, 20)]).save()
    assert Index.stored(file, OFFSET_PAIR, 13).last == (1, 10)


@given(rising, st.integers(0, 2**31 - 1))
def test_a_cut_keeps_what_lies_below_a_value(values, limit):
    index = filled(StoredFile(OpenFiles(), "unused"), [(i, value) for i, value in enumerate(values)])
    index.cut(limit)
    kept = [value for value in values if value < limit]
    assert (len(index), index.last) == (len(kept), (len(kept) - 1, kept[-1]) if kept else None)


def test_a_saved_index_may_become_shorter(file):
    index = filled(file, [(i, i) for i in range(1, 9)])
    index.save()
    index.cut(3)
    index.save()
    assert file.read(999, 0) == b"".join(OFFSET_PAIR.pack(i, i) for i in (1, 2))


def test_an_index_without_pairs_has_no_floor(file):
    empty = Index.stored(file, OFFSET_PAIR, 0)
    assert (empty.floor(5), empty.last, empty.size) == (None, None, 0)
    empty.save()
    assert not len(empty)


def test_a_removed_index_has_no_file(file, tmp_path):
    index = filled(file, [(1, 10)])
    index.save()
    index.remove()
    assert not list(tmp_path.iterdir())
