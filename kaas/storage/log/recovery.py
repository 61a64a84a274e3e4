"""Opening a log: from the files in its folder to segments and state.

Job: finish or undo what a crash left half done, and walk what the checkpoint does not cover.
Rules:
- A batch that is torn or does not fit its checksum ends its segment: what follows it there is cut off. Later
  segments stay, because a gap loses less than dropping what is good.
- After a walk the indexes and the aborted transactions of a segment are those of the walk; in a segment that was not
  walked, index files that are missing or cannot be right are built anew from its headers.
- Temporary files go. A compaction that was finished but not put in place (`.swap`) is put in place.
Must not know: who appends or reads.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from kaas.errors import KafkaError
from kaas.storage.files import TEMPORARY, flush_folder
from kaas.storage.log.aborted import unpack_aborted
from kaas.storage.log.checkpoint import Checkpoint, read_checkpoint
from kaas.storage.log.files import OpenFiles, StoredFile
from kaas.storage.log.index import OFFSET_PAIR, TIME_PAIR, Index
from kaas.storage.log.producers import ProducerStates
from kaas.storage.log.segment import ABORTED_INDEX, LOG, OFFSET_INDEX, TIME_INDEX, Segment, segment_path
from kaas.storage.log.state import LogState
from kaas.wire.records.control import read_marker
from kaas.wire.records.walk import checksum_fits

logger = logging.getLogger(__name__)

SWAP = ".swap"

_DIGITS = 20
_INDEXES = (OFFSET_INDEX, TIME_INDEX, ABORTED_INDEX)


class OpenedLog(NamedTuple):
    """What opening found: the segments, oldest first, and how many of the newest had to be walked."""

    segments: tuple[Segment, ...]
    state: LogState
    log_start_offset: int
    cleaned_offset: int
    walked: int


class _Found(NamedTuple):
    size: int
    inode: int
    changed_ms: int


_NOTHING = _Found(0, 0, 0)


def new_log() -> OpenedLog:
    """A log of which nothing is stored yet."""
    return OpenedLog((), LogState(), 0, 0, 0)


def open_log(open_files: OpenFiles, folder: str, index_interval_bytes: int, now_ms: int) -> OpenedLog:
    """The log in a folder, which must exist. Raises: OSError."""
    if any(path.suffix == SWAP for path in Path(folder).iterdir()):
        finish_swaps(folder)
    found = _scan(folder)
    segments = tuple(_segment(open_files, folder, base_offset, found) for base_offset in sorted(found[LOG]))
    checkpoint = read_checkpoint(folder)
    if checkpoint is None:
        state, covered, position = LogState(), 0, 0
    else:
        state, covered, position = _resume(segments, checkpoint)
    for segment in segments[:covered]:
        _check_indexes(segment, found, index_interval_bytes)
    for segment in segments[covered:]:
        _replay(segment, position, state, index_interval_bytes, now_ms)
        position = 0
    first, last = (segments[0].base_offset, segments[-1].base_offset) if segments else (0, 0)
    state.next_offset = max(state.next_offset, last)  # an empty segment keeps the place of a log that was emptied
    return OpenedLog(
        segments=segments,
        state=state,
        log_start_offset=max(first, checkpoint.log_start_offset if checkpoint else 0),
        cleaned_offset=checkpoint.cleaned_offset if checkpoint else 0,
        walked=len(segments) - covered,
    )


def finish_swaps(folder: str) -> None:
    """Puts compacted segments in place: `<first>.<end>.swap` replaces every segment from `first` on that begins
    below `end`.

    It may be done again after a crash at any of its steps. Raises: OSError.
    """
    for swap in sorted(Path(folder).glob(f"*{SWAP}")):
        first, end = (int(number) for number in swap.name.removesuffix(SWAP).split("."))
        for old in sorted(Path(folder).glob(f"*{LOG}")):
            if first <= int(old.stem) < end:
                for suffix in _INDEXES:
                    old.with_suffix(suffix).unlink(missing_ok=True)
                if int(old.stem) != first:
                    old.unlink()
        swap.replace(segment_path(folder, first))
        flush_folder(Path(folder))


def _scan(folder: str) -> dict[str, dict[int, _Found]]:
    """The files of each suffix by base offset; temporary ones are removed."""
    found: dict[str, dict[int, _Found]] = {LOG: {}, **{suffix: {} for suffix in _INDEXES}}
    with os.scandir(folder) as entries:
        for entry in entries:
            stem, dot, suffix = entry.name.rpartition(".")
            suffix = dot + suffix
            if suffix == TEMPORARY:
                Path(entry.path).unlink(missing_ok=True)
            elif suffix in found and len(stem) == _DIGITS and stem.isdecimal():
                status = entry.stat()
                found[suffix][int(stem)] = _Found(status.st_size, status.st_ino, int(status.st_mtime * 1000))
    return found


def _segment(open_files: OpenFiles, folder: str, base_offset: int, found: dict[str, dict[int, _Found]]) -> Segment:
    def index(suffix: str, layout: Struct) -> Index:
        one = found[suffix].get(base_offset, _NOTHING)
        return Index.stored(
            StoredFile(open_files, segment_path(folder, base_offset, suffix), one.inode), layout, one.size
        )

    one = found[LOG][base_offset]
    segment = Segment(
        base_offset=base_offset,
        file=StoredFile(open_files, segment_path(folder, base_offset), one.inode),
        offsets=index(OFFSET_INDEX, OFFSET_PAIR),
        times=index(TIME_INDEX, TIME_PAIR),
        size=one.size,
        changed_ms=one.changed_ms,
    )
    if base_offset in found[ABORTED_INDEX]:
        segment.aborted = unpack_aborted(Path(segment_path(folder, base_offset, ABORTED_INDEX)).read_bytes())
    return segment


def _resume(segments: tuple[Segment, ...], checkpoint: Checkpoint) -> tuple[LogState, int, int]:
    """The state of the checkpoint, how many segments it covers whole, and from which byte of the next one to walk."""
    older = sum(segment.base_offset < checkpoint.segment for segment in segments)
    state = LogState(checkpoint.next_offset, checkpoint.epochs, ProducerStates(checkpoint.producers))
    named = segments[older] if older < len(segments) else None
    if named is None or named.base_offset != checkpoint.segment:
        return state, older, 0
    if named.size < checkpoint.size:
        logger.error("%s is shorter than its checkpoint says: the log is walked anew", named.file.path)
        return LogState(), 0, 0
    if named.size == checkpoint.size:
        return state, older + 1, 0
    return state, older, checkpoint.size


def _replay(segment: Segment, position: int, state: LogState, index_interval_bytes: int, now_ms: int) -> None:
    """Takes up the batches from a position on as if they were appended now, and cuts off what is not good."""
    size = segment.size
    segment.cut(position, state.next_offset)
    try:
        for _, header, data in segment.walk(position, size):
            if header.base_offset < state.next_offset or not checksum_fits(data, 0, header):
                break
            marker = read_marker(data, 0, header) if header.is_control else None
            aborted = state.advance(header, marker, now_ms)
            if aborted is not None:
                segment.aborted.append(aborted)
            segment.note(header, index_interval_bytes)
    except KafkaError as error:
        logger.warning("%s: no batch at byte %d: %s", segment.file.path, segment.size, error)
    if segment.size < size:
        logger.warning("%s is cut from %d to %d bytes: its end is torn", segment.file.path, size, segment.size)
        with suppress(OSError):  # a disk that takes no writes is still read; the cut comes before the next write
            segment.cut_file()


def _check_indexes(segment: Segment, found: dict[str, dict[int, _Found]], index_interval_bytes: int) -> None:
    """Builds the indexes of a segment anew when their files are missing or cannot be right."""
    if segment.size == 0 or _index_fits(segment, found):
        return
    logger.warning("%s: its indexes are built anew", segment.file.path)
    size, aborted = segment.size, segment.aborted
    segment.cut(0, segment.base_offset)
    for _, header, _ in segment.walk(0, size):
        segment.note(header, index_interval_bytes)
    segment.aborted = aborted
    segment.save()


def _index_fits(segment: Segment, found: dict[str, dict[int, _Found]]) -> bool:
    offsets, times = (found[suffix].get(segment.base_offset) for suffix in (OFFSET_INDEX, TIME_INDEX))
    if offsets is None or times is None or offsets.size % OFFSET_PAIR.size or times.size % TIME_PAIR.size:
        return False
    last = segment.offsets.last
    return last is None or (last[0] > 0 and 0 < last[1] < segment.size)
