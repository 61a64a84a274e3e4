"""Record batches (magic 2), and Produce and Fetch with one partition.

    produce(c, topic, batch("a", "b"))            -> the partition's row of the answer
    values(fetch(c, topic, 0))                    -> [(offset, value), ...]

A compressed batch here holds its records in the codec's frame as literal blocks: valid for every decoder, no library needed.
"""

import gzip
import struct
import time
from typing import NamedTuple

from crc32c import crc32c

from tests.conformance.oracle.calls import ask, put

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
TRANSACTIONAL, CONTROL = 0x10, 0x20
EARLIEST, LATEST, NEWEST, EARLIEST_LOCAL, LATEST_TIERED = -2, -1, -3, -4, -5
BIG = 50 * 1024 * 1024


def varint(value):
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def unvarint(data, at):
    shift = value = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return (value >> 1) ^ -(value & 1), at


def sized(value):
    return varint(-1) if value is None else varint(len(value)) + value


def unsized(data, at):
    size, at = unvarint(data, at)
    return (None, at) if size < 0 else (bytes(data[at : at + size]), at + size)


def snappy(data):
    """Raw snappy: the length, then literals of up to 60 bytes."""
    size, head = len(data), bytearray()
    while size > 0x7F:
        head.append(size & 0x7F | 0x80)
        size >>= 7
    head.append(size)
    parts = [data[i : i + 60] for i in range(0, len(data), 60)]
    return bytes(head) + b"".join(bytes([(len(p) - 1) << 2]) + p for p in parts)


def lz4(data):
    """An LZ4 frame with one stored block of at most 64 KiB."""
    assert len(data) < 65536
    return b"\x04\x22\x4d\x18\x60\x40\x82" + struct.pack("<I", len(data) | 0x80000000) + data + b"\0\0\0\0"


def zstd(data):
    """A Zstandard frame with one raw block."""
    assert len(data) < 65536
    return b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data)) + (len(data) << 3 | 1).to_bytes(3, "little") + data


PRESS = {NONE: bytes, GZIP: lambda data: gzip.compress(data, mtime=0), SNAPPY: snappy, LZ4: lz4, ZSTD: zstd}


class Producer(NamedTuple):
    id: int = -1
    epoch: int = -1


UNKNOWN = Producer()


def batch(*records, producer=UNKNOWN, sequence=-1, codec=NONE, attributes=0, at=None, base_offset=0, magic=2):
    """One batch. A record is a value ("text" or bytes) or a tuple (key, value); `at` is a timestamp, or one for each record."""
    times = list(at) if isinstance(at, (list, tuple)) else [at or int(time.time() * 1000)] * len(records)
    body = b""
    for i, record in enumerate(records):
        key, value = record if isinstance(record, tuple) else (None, record)
        value = value.encode() if isinstance(value, str) else value
        key = key.encode() if isinstance(key, str) else key
        one = b"\0" + varint(times[i] - times[0]) + varint(i) + sized(key) + sized(value) + varint(0)
        body += varint(len(one)) + one
    head = struct.pack(
        ">hiqqqhii",
        attributes | codec,
        len(records) - 1,
        times[0],
        max(times),
        producer.id,
        producer.epoch,
        sequence,
        len(records),
    )
    tail = head + PRESS[codec](body)
    return struct.pack(">qiibI", base_offset, len(tail) + 9, -1, magic, crc32c(tail)) + tail


class Batch(NamedTuple):
    base_offset: int
    last_offset: int
    leader_epoch: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer: Producer
    sequence: int
    count: int
    payload: bytes  # the records as stored, still compressed
    records: list  # (offset, timestamp, key, value); only without compression, or with gzip


def parse(data):
    """The whole batches in fetched bytes; each checksum is verified."""
    out, data, at = [], bytes(data or b""), 0
    while at + 12 <= len(data):
        base, size = struct.unpack_from(">qi", data, at)
        if at + 12 + size > len(data):
            break
        one, at = data[at + 12 : at + 12 + size], at + 12 + size
        epoch, magic, crc, attributes, last, first_time, max_time, pid, pepoch, sequence, count = struct.unpack_from(
            ">ibIhiqqqhii", one
        )
        assert magic == 2 and crc == crc32c(one[9:]), (magic, crc, base)
        payload, records, where = one[49:], [], 0
        plain = {NONE: bytes, GZIP: gzip.decompress}.get(attributes & 7)
        text = plain(payload) if plain else b""
        while where < len(text):
            size, where = unvarint(text, where)
            end = where + size
            later, where = unvarint(text, where + 1)
            offset, where = unvarint(text, where)
            key, where = unsized(text, where)
            value, where = unsized(text, where)
            records.append((base + offset, first_time + later, key, value))
            where = end
        out.append(
            Batch(
                base,
                base + last,
                epoch,
                attributes,
                first_time,
                max_time,
                Producer(pid, pepoch),
                sequence,
                count,
                payload,
                records,
            )
        )
    return out


def values(partition):
    """(offset, value) of every data record in a fetched partition."""
    return [(r[0], r[3].decode()) for b in parse(partition.records) if not b.attributes & CONTROL for r in b.records]


def produce_values(topic, data, partition=0, acks=-1, txn=None, id=None, timeout=5000):
    rows = [{"name": topic, "topic_id": id, "partition_data": [{"index": partition, "records": data}]}]
    return {"transactional_id": txn, "acks": acks, "timeout": timeout, "topic_data": rows}


def produce(c, topic, data, partition=0, version=9, **more):
    """One partition's row of the Produce answer."""
    return (
        ask(c, "Produce", version, **produce_values(topic, data, partition, **more)).responses[0].partition_responses[0]
    )


def fetch_values(
    topic,
    offset=0,
    partition=0,
    id=None,
    leader_epoch=-1,
    partition_max=BIG,
    max_wait=0,
    min_bytes=1,
    max_bytes=BIG,
    isolation=0,
    **more,
):
    rows = [
        {
            "topic": topic,
            "topic_id": id,
            "partitions": [
                {
                    "partition": partition,
                    "current_leader_epoch": leader_epoch,
                    "fetch_offset": offset,
                    "partition_max_bytes": partition_max,
                }
            ],
        }
    ]
    return {
        "max_wait": max_wait,
        "min_bytes": min_bytes,
        "max_bytes": max_bytes,
        "isolation_level": isolation,
        "topics": rows,
        **more,
    }


def fetch(c, topic, offset=0, version=11, **more):
    """One partition's row of the Fetch answer."""
    answer = ask(c, "Fetch", version, **fetch_values(topic, offset, **more))
    assert getattr(answer, "error_code", 0) == 0, answer
    return answer.responses[0].partitions[0]


def park_fetch(c, topic, offset=0, version=11, **more):
    """Sends a Fetch and leaves the answer for `c.recv()`."""
    put(c, "Fetch", version, **fetch_values(topic, offset, **more))


def session(c, id, epoch, partitions, forget=(), version=11):
    """{topic, partition: offset} in a session: (error, session id, {(topic, partition): (error, values)})."""
    rows, gone = {}, {}
    for (topic, partition), offset in partitions.items():
        rows.setdefault(topic, []).append(
            {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 10**6}
        )
    for topic, partition in forget:
        gone.setdefault(topic, []).append(partition)
    answer = ask(
        c,
        "Fetch",
        version,
        max_wait=0,
        min_bytes=1,
        max_bytes=10**6,
        session_id=id,
        session_epoch=epoch,
        topics=[{"topic": t, "partitions": p} for t, p in rows.items()],
        forgotten_topics_data=[{"topic": t, "partitions": p} for t, p in gone.items()],
    )
    return (
        int(answer.error_code),
        answer.session_id,
        {
            (t.topic, p.partition_index): (int(p.error_code), [v for _, v in values(p)])
            for t in answer.responses
            for p in t.partitions
        },
    )


def list_offset(c, topic, timestamp, partition=0, version=7, **more):
    """One partition's row of the ListOffsets answer."""
    more = {"replica_id": -1, "timeout": 5000, **more}
    rows = [{"name": topic, "partitions": [{"partition_index": partition, "timestamp": timestamp}]}]
    return ask(c, "ListOffsets", version, topics=rows, **more).topics[0].partitions[0]


def end_offset(c, topic, partition=0, isolation=0):
    return list_offset(c, topic, -1, partition, isolation_level=isolation).offset
