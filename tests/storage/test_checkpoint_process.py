"""The process that writes checkpoints: frames in, files on the disk, answers out."""

from __future__ import annotations

import io

from kaas.storage.checkpoint_files import Files
from kaas.storage.checkpoint_process import LENGTH_BYTES, answer_of, frame, serve
from kaas.storage.group_files import OFFSETS_FOLDER

OFFSETS = b'{"coordinator_epoch": 1, "version": %d, "offsets": {}}'


def batch(*versions: int) -> bytes:
    return frame([Files(f"g{version}.json", (1, version), OFFSETS % version) for version in versions])


def answers(data: bytes) -> list[list[OSError | None]]:
    """Every answer in these bytes."""
    found, stream = [], io.BytesIO(data)
    while head := stream.read(LENGTH_BYTES):
        found.append(answer_of(stream.read(int.from_bytes(head, "big"))))
    return found


def test_batches_are_written_in_their_order_and_answered(tmp_path):
    out = io.BytesIO()
    serve(tmp_path, io.BytesIO(batch(1, 2) + batch(3)), out)
    assert answers(out.getvalue()) == [[None, None], [None]]
    assert (tmp_path / OFFSETS_FOLDER / "g3.json").read_bytes() == OFFSETS % 3


def test_what_fails_is_answered_with_its_reason(tmp_path):
    (tmp_path / OFFSETS_FOLDER / "g1.json").mkdir(parents=True)
    out = io.BytesIO()
    serve(tmp_path, io.BytesIO(batch(1, 2)), out)
    ((failed, written),) = answers(out.getvalue())
    assert isinstance(failed, IsADirectoryError) and written is None


def test_a_batch_that_the_parent_did_not_finish_is_not_begun(tmp_path):
    out = io.BytesIO()
    serve(tmp_path, io.BytesIO(batch(1)[:-1]), out)
    assert out.getvalue() == b"" and not (tmp_path / OFFSETS_FOLDER).exists()
