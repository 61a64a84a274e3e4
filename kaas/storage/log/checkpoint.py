"""The checkpoint of a log: what was known when everything before it was safely on the disk.

Job: write and read `checkpoint.json` in a partition's folder.
Rules:
- It says up to which byte of which segment the log is good. Opening a log walks only what lies behind that: nothing
  after a clean stop, the newest segment after a crash.
- It carries what the walked bytes cannot tell: the log start offset, the producers, how far compaction came.
- It is written whole or not at all. One that cannot be read is set aside, and the log is walked from its first byte.
Must not know: segments, how to walk.
"""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from kaas.storage.files import set_aside, write_whole
from kaas.storage.log.epochs import LeaderEpochs
from kaas.storage.log.producers import Snapshot

logger = logging.getLogger(__name__)

CHECKPOINT = "checkpoint.json"


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """`size` bytes of the segment that begins at offset `segment`, and every segment before it, are good."""

    segment: int
    size: int
    next_offset: int
    log_start_offset: int
    cleaned_offset: int = 0
    epochs: LeaderEpochs = LeaderEpochs()
    producers: Snapshot = Snapshot()


def write_checkpoint(folder: str, checkpoint: Checkpoint) -> None:
    """Puts the checkpoint of a folder in place. Raises: OSError; the old one is then still there."""
    write_whole(Path(folder, CHECKPOINT), msgspec.json.encode(checkpoint))


def read_checkpoint(folder: str) -> Checkpoint | None:
    """The checkpoint of a folder; None when there is none that can be read. Raises: OSError."""
    path = Path(folder, CHECKPOINT)
    try:
        return msgspec.json.decode(path.read_bytes(), type=Checkpoint)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        logger.error("%s is set aside as %s, its log is walked from the first byte: %s", path, set_aside(path), error)
        return None
