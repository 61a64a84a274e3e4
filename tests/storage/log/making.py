"""Batches, settings and disks for the tests of logs."""

from __future__ import annotations

import resource
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from kaas.storage.log.admission import Append
from kaas.storage.log.config import LogConfig, log_config
from kaas.storage.log.settings import check_topic_settings, topic_values
from kaas.wire.records.codec import Codec
from kaas.wire.records.control import Marker, MarkerKind, build_marker
from kaas.wire.records.header import CONTROL, TRANSACTIONAL
from kaas.wire.records.record import Origin, Record, build_batch, decode_records
from kaas.wire.records.walk import batches

NOW = 1_000_000_000


def config(**settings: object) -> LogConfig:
    """A configuration from settings written with underscores: config(segment_bytes=300)."""
    configs = {name.replace("_", "."): str(value) for name, value in settings.items()}
    return log_config(topic_values(check_topic_settings(configs), {}))


def batch(
    *values: str | None,
    at: int | list[int] = NOW,
    keys: Iterable[str | None] | None = None,
    producer: int = -1,
    epoch: int = 0,
    sequence: int = 0,
    transactional: bool = False,
    codec: Codec = Codec.NONE,
) -> bytes:
    """A batch as a client sends it; `at` is one timestamp or one for each record."""
    times = at if isinstance(at, list) else [at] * len(values)
    names = list(keys) if keys is not None else [None] * len(values)
    records = [
        Record(
            offset=i,
            timestamp=times[i],
            key=None if name is None else name.encode(),
            value=None if value is None else value.encode(),
        )
        for i, (name, value) in enumerate(zip(names, values, strict=True))
    ]
    origin = Origin(producer_id=producer, producer_epoch=epoch, base_sequence=sequence) if producer >= 0 else Origin()
    return build_batch(records, origin=origin, codec=codec, attributes=TRANSACTIONAL if transactional else 0)


def plain(*values: str, **more) -> Append:
    return Append(data=batch(*values, **more))


def marker(kind: MarkerKind, producer: int, epoch: int = 0, coordinator_epoch: int = 0) -> Append:
    """The end of a transaction, as the transaction coordinator appends it."""
    ending = Marker(kind=kind, coordinator_epoch=coordinator_epoch)
    return Append(
        data=build_marker(ending, producer_id=producer, producer_epoch=epoch, timestamp_ms=NOW), is_marker=True
    )


def seen(buffers: Iterable[bytes | memoryview]) -> list[tuple[int, str]]:
    """(offset, value) of each data record in the buffers of a chunk."""
    out = []
    for buffer in buffers:
        for position, header in batches(buffer):
            if not header.attributes & CONTROL:
                out += [(r.offset, (r.value or b"").decode()) for r in decode_records(buffer, position, header)]
    return out


@contextmanager
def disk_takes(size: int) -> Iterator[None]:
    """Inside, no file grows beyond a size: a write that would is cut short, the next one fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
