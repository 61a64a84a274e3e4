"""Logs as they are found after a stop, a crash, a torn write, lost or damaged index files."""

import itertools
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.storage.log.checkpoint import CHECKPOINT
from kaas.storage.log.partition import PartitionLog
from kaas.storage.log.recovery import finish_swaps, open_log
from kaas.wire.records.control import MarkerKind
from tests.storage.log.making import NOW, batch, config, marker, plain, seen

SMALL = config(segment_bytes=500, index_interval_bytes=100)
"""Six batches of one short record fill a segment."""


def new_log(folder, resources, settings=SMALL) -> PartitionLog:
    return PartitionLog(str(folder.parent), int(folder.name), settings, resources)


def opened(folder, resources, settings=SMALL) -> PartitionLog:
    log = new_log(folder, resources, settings)
    log.open(NOW)
    return log


def everything(log: PartitionLog) -> list[tuple[int, str]]:
    """What a reader that begins now sees. Beside a compaction what lay below an end may have gone by the time it reads: it
    asks again, with the end of then."""
    rows, offset = [], log.view.log_start_offset
    while offset < (end := log.view.high_watermark):
        chunk = log.read(offset, 10**6, end, min_one=True)
        rows += seen(chunk.buffers)
        assert chunk.next_offset > offset or log.view.high_watermark > end
        offset = chunk.next_offset
    return rows


def knowledge(log: PartitionLog):
    """All that a log knows and answers from."""
    writer, view = log._writer, log.view
    return (
        (view.log_start_offset, view.last_stable_offset, view.high_watermark),
        [(one.base_offset, one.size, one.max_timestamp, one.aborted) for one in view.segments],
        writer.state.epochs,
        writer.state.producers.snapshot(),
        everything(log),
        [log.first_at_or_after(time) for time in range(NOW, NOW + 12)],
        log.newest(),
    )


def history(log: PartitionLog) -> None:
    """Plain, idempotent and transactional batches over three segments; the last transaction stays open."""
    log.append([plain(f"a{i}", at=NOW + i) for i in range(4)], NOW)
    log.append([plain("i", producer=1, sequence=s, at=NOW + 4) for s in range(3)], NOW)
    log.append([plain("gone", producer=2, transactional=True, at=NOW + 5), marker(MarkerKind.ABORT, producer=2)], NOW)
    log.append([plain("kept", producer=2, sequence=1, transactional=True), marker(MarkerKind.COMMIT, producer=2)], NOW)
    log.append([plain("open", producer=3, transactional=True, at=NOW + 7), plain("after", at=NOW + 6)], NOW)
    log.append([plain(f"z{i}", at=NOW + 8) for i in range(3)], NOW)


@pytest.fixture
def log(folder, resources):
    log = new_log(folder, resources)
    history(log)
    assert len(log.view.segments) == 3
    return log


def test_a_clean_stop_and_a_crash_lead_to_the_same_log(log, folder, resources):
    before = knowledge(log)
    assert knowledge(opened(folder, resources)) == before  # a crash: nothing was closed
    log.close()
    assert knowledge(opened(folder, resources)) == before


def test_nothing_is_walked_after_a_clean_stop(log, folder, resources):
    log.close()
    assert open_log(resources.open_files, str(folder), 100, NOW).walked == 0


def test_only_what_came_after_the_checkpoint_is_walked(log, folder, resources):
    rolled = log.take_rolled()
    for segment in rolled.segments:
        segment.sync()
    log.confirm(rolled)
    found = open_log(resources.open_files, str(folder), 100, NOW)
    assert (found.walked, len(found.segments)) == (1, 3)
    assert knowledge(opened(folder, resources)) == knowledge(log)


def test_a_log_goes_on_after_it_was_closed_and_crashes_again(log, folder, resources):
    log.close()
    again = opened(folder, resources)
    again.append([plain("more", at=NOW + 9), plain("i", producer=1, sequence=3)], NOW)
    assert knowledge(opened(folder, resources)) == knowledge(again)


def test_a_segment_that_was_begun_and_never_written_is_no_loss(log, folder, resources):
    log._writer.roll(NOW)
    rolled = log.take_rolled()
    log.confirm(rolled)
    before = knowledge(log)[0], everything(log)
    again = opened(folder, resources)
    assert (knowledge(again)[0], everything(again)) == before
    again.append([plain("next")], NOW)
    assert everything(again)[-1] == (before[0][2], "next")


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("damage", ["missing", "torn", "beyond the end"])
def test_indexes_that_cannot_be_right_are_built_anew(log, folder, resources, suffix, damage):
    log.close()
    before = knowledge(log)
    for path in folder.glob(f"*{suffix}"):
        if damage == "missing":
            path.unlink()
        elif damage == "torn":
            path.write_bytes(path.read_bytes() + b"x")
        else:
            path.write_bytes(path.read_bytes()[:-4] + b"\x7f\xff\xff\xff")
    again = opened(folder, resources)
    assert everything(again) == before[4]
    if damage != "beyond the end" or suffix == ".index":
        assert knowledge(again) == before


def test_a_log_without_its_checkpoint_is_walked_whole(log, folder, resources):
    log.close()
    before = knowledge(log)
    (folder / CHECKPOINT).unlink()
    assert knowledge(opened(folder, resources)) == before


def test_a_segment_shorter_than_the_checkpoint_says_is_walked_anew(log, folder, resources):
    log.close()
    before = everything(log)
    newest = max(folder.glob("*.log"))
    newest.write_bytes(newest.read_bytes()[:-10])
    again = opened(folder, resources)
    assert everything(again) == before[:-1]
    again.append([plain("again")], NOW)
    assert everything(again) == [*before[:-1], (before[-1][0], "again")]


def test_a_damaged_batch_in_a_full_segment_costs_the_rest_of_that_segment_only(log, folder, resources):
    before, oldest = everything(log), min(folder.glob("*.log"))
    data = bytearray(oldest.read_bytes())
    data[len(data) // 2] ^= 1
    oldest.write_bytes(data)
    kept = everything(opened(folder, resources))
    lost = [row for row in before if row not in kept]
    assert lost and all(offset < log.view.segments[1].base_offset for offset, _ in lost)
    assert kept == [row for row in before if row not in lost]


def test_the_start_of_the_log_is_kept(log, folder, resources):
    log.delete_records(7, NOW)
    again = opened(folder, resources)
    assert again.view.log_start_offset == 7 and everything(again)[0][0] in (6, 7)


def test_a_log_that_was_emptied_goes_on_at_its_offset(log, folder, resources):
    end = log.view.high_watermark
    log.delete_records(-1, NOW)
    for again in (opened(folder, resources), opened(folder, resources)):
        assert (again.view.log_start_offset, again.view.high_watermark) == (end, end)
    again.append([plain("next")], NOW)
    assert everything(again) == [(end, "next")]


def test_debris_is_removed(log, folder, resources):
    (folder / ".checkpoint.json.12ab.tmp").write_bytes(b"half")
    (folder / "readme").write_bytes(b"not ours")
    (folder / "1.log").write_bytes(b"not ours")
    opened(folder, resources)
    names = {one.name for one in folder.iterdir()}
    assert ".checkpoint.json.12ab.tmp" not in names and {"readme", "1.log"} <= names


def test_an_unreadable_aborted_index_entry_is_left_out(log, folder, resources):
    log.close()
    for path in folder.glob("*.txnindex"):
        path.write_bytes(path.read_bytes() + b"torn")
    assert knowledge(opened(folder, resources)) == knowledge(log)


@pytest.mark.parametrize("step", range(6))
def test_a_compaction_that_was_finished_is_put_in_place(log, folder, step):
    log.close()
    first, second, third = sorted(folder.glob("*.log"))
    swap = folder / f"{first.stem}.{third.stem}.swap"
    swap.write_bytes(b"compacted")
    replaced = [
        first.with_suffix(".index"),
        *(second.with_suffix(one) for one in (".index", ".timeindex", ".txnindex")),
    ]
    for path in [*replaced, second][:step]:
        path.unlink(missing_ok=True)
    finish_swaps(str(folder))
    assert sorted(folder.glob("*.log")) == [first, third] and first.read_bytes() == b"compacted"
    assert not any(path.exists() for path in (swap, *replaced))


@given(cut=st.integers(0, 2000), tail=st.binary(max_size=80))
def test_any_torn_tail_is_cut_and_everything_before_it_is_there(tmp_path_factory, cut, tail):
    """A prefix of the bytes, then garbage: what is opened is the longest run of whole batches."""
    from kaas.storage.log.files import OpenFiles
    from kaas.storage.log.recent import RecentBatches
    from kaas.storage.log.writer import LogResources

    resources = LogResources(OpenFiles(), RecentBatches())
    folder = tmp_path_factory.mktemp("torn") / "t" / "0"
    folder.mkdir(parents=True)
    log = new_log(folder, resources, config())
    history(log)
    path = folder / "00000000000000000000.log"
    data = path.read_bytes()
    ends = [position + header.size for position, header, _ in log.view.segments[0].walk(0, len(data))]
    torn = data[:cut] + tail
    path.write_bytes(torn)
    again = opened(folder, resources, config())
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(data, torn, strict=False))
    good = sum(1 for _ in same)  # the cut, or more: garbage may happen to be what was there
    whole = sum(end <= good for end in ends)
    assert again.view.high_watermark == whole
    assert everything(again) == [row for row in everything_of(data) if row[0] < whole]
    assert path.stat().st_size == ([0, *ends][whole])
    again.append([plain("next")], NOW)
    assert everything(again)[-1] == (whole, "next")
    shutil.rmtree(folder.parent)


def everything_of(data: bytes) -> list[tuple[int, str]]:
    return seen([data])


def test_a_batch_with_an_offset_that_was_given_before_is_not_taken(folder, resources):
    log = new_log(folder, resources)
    log.append([plain("a"), plain("b")], NOW)
    with (folder / "00000000000000000000.log").open("ab") as file:
        file.write(batch("again"))
    assert everything(opened(folder, resources)) == [(0, "a"), (1, "b")]
