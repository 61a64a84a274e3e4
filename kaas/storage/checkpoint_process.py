"""The process that writes checkpoint files, so that no system call of theirs takes the interpreter from the event loop.

Job: read batches from its parent, write them, answer what failed.
Shape: both ways a frame is its length (u32, big-endian) and MessagePack: a list of `Files` one way, the other way a
list with null or (errno, text) for each of them.
Rules: batches are written in the order in which they come; the next one is read when the one before is answered. It
ends when its parent closes the pipe or dies; a batch that was begun is written to its end.
Must not know: groups, what the files say.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import BinaryIO

import msgspec

from kaas.storage.checkpoint_files import Files, write_batch

LENGTH_BYTES = 4

Answer = list[tuple[int, str] | None]

_encode = msgspec.msgpack.Encoder().encode
_decode_batch = msgspec.msgpack.Decoder(list[Files]).decode
_decode_answer = msgspec.msgpack.Decoder(Answer).decode


def frame(content: object) -> bytes:
    data = _encode(content)
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def answer_of(data: bytes) -> list[OSError | None]:
    """The content of an answer: what kept each of the batch from being durable."""
    return [None if item is None else OSError(*item) for item in _decode_answer(data)]


def serve(cluster_folder: Path, batches: BinaryIO, answers: BinaryIO) -> None:
    """Write batches until there are no more."""
    while len(head := batches.read(LENGTH_BYTES)) == LENGTH_BYTES:
        size = int.from_bytes(head, "big")
        data = batches.read(size)
        if len(data) < size:  # the parent died while it wrote
            return
        problems = write_batch(cluster_folder, _decode_batch(data))
        answers.write(frame([None if p is None else (p.errno or 0, p.strerror or str(p)) for p in problems]))
        answers.flush()


if __name__ == "__main__":
    try:
        serve(Path(sys.argv[1]), sys.stdin.buffer, sys.stdout.buffer)
    except BrokenPipeError:  # the parent is gone; what it asked for is written
        sys.stderr.close()
