"""What is written to a log, read from it and asked of it, as far as clients of groups rely on that.

Produce 3-13, Fetch 4-18, ListOffsets 1-11, OffsetForLeaderEpoch 2-4, DeleteRecords 0-2. The broker under test takes batches of
up to 1,048,588 bytes.
"""

import struct
import time
import uuid

import pytest
from crc32c import crc32c

from tests.conformance.oracle.calls import ask, create_topic, described, topic_id
from tests.conformance.oracle.records import (
    EARLIEST,
    EARLIEST_LOCAL,
    GZIP,
    LATEST,
    LATEST_TIERED,
    LZ4,
    NEWEST,
    SNAPPY,
    ZSTD,
    batch,
    end_offset,
    fetch,
    list_offset,
    park_fetch,
    parse,
    produce,
    session,
    values,
)


def rewritten(data, at, form, value):
    """A batch with one field of its head changed and its checksum made right again."""
    data = bytearray(data)
    struct.pack_into(form, data, at, value)
    struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    return bytes(data)


# Produce


@pytest.mark.parametrize("version", range(3, 14))
def test_records_get_consecutive_offsets_and_come_back_as_sent(c, topic, version):
    id = topic_id(c, topic)
    first = produce(c, topic, batch("a", ("k", "b")), version=version, id=id)
    second = produce(c, topic, batch("c"), version=version, id=id)
    assert [(int(r.error_code), r.base_offset) for r in (first, second)] == [(0, 0), (0, 2)]
    assert second.log_append_time is None and getattr(second, "log_start_offset", 0) == 0
    stored = parse(fetch(c, topic).records)
    assert [[(o, k, v) for o, _, k, v in b.records] for b in stored] == [
        [(0, None, b"a"), (1, b"k", b"b")],
        [(2, None, b"c")],
    ]
    assert [(b.base_offset, b.last_offset, b.leader_epoch) for b in stored] == [(0, 1, 0), (2, 2, 0)]


def test_keys_values_and_their_absence_survive(c, topic):
    sent = [(None, None), (None, b""), (b"", b"v"), (b"k", None), (b"\0\xff", b"\xff" * 300)]
    assert produce(c, topic, batch(*sent, at=[10, 20, 15, 5, 30])).error_code == 0
    (one,) = parse(fetch(c, topic).records)
    assert [(k, v) for _, _, k, v in one.records] == sent and [t for _, t, _, _ in one.records] == [10, 20, 15, 5, 30]
    assert (one.base_timestamp, one.max_timestamp) == (10, 30)


@pytest.mark.parametrize("acks, code", [(-1, 0), (1, 0), (2, 21), (-2, 21)])
def test_acks_are_none_the_leader_or_all(c, topic, acks, code):
    row = produce(c, topic, batch("a"), acks=acks)
    assert (int(row.error_code), row.base_offset) == (code, -1 if code else 0)
    assert end_offset(c, topic) == (0 if code else 1)


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD], ids=["gzip", "snappy", "lz4", "zstd"])
def test_a_compressed_batch_is_stored_as_it_came(c, topic, codec):
    sent = batch("one", "two", codec=codec)
    assert produce(c, topic, sent, version=7).error_code == 0
    assert produce(c, topic, batch("three")).base_offset == 2
    stored = parse(fetch(c, topic).records)
    assert (stored[0].attributes & 7, stored[0].count, stored[0].payload) == (codec, 2, parse(sent)[0].payload)


@pytest.mark.parametrize("version, code", [(3, 76), (6, 76), (7, 0), (9, 0)])
def test_zstandard_needs_produce_7(c, topic, version, code):
    assert produce(c, topic, batch("a", codec=ZSTD), version=version).error_code == code
    assert end_offset(c, topic) == (0 if code else 1)


def one_bit_off(data):
    return data[:-1] + bytes([data[-1] ^ 1])


@pytest.mark.parametrize(
    "data, code",
    [
        (one_bit_off(batch("a")), 2),
        (batch("a")[:-3], 87),
        (batch("a") + batch("b"), 87),
        (b"", 87),
        (batch("a", magic=1), 87),
        (rewritten(batch("a"), 57, ">i", 5), 87),
        (rewritten(batch("a"), 23, ">i", 5), 87),
        (batch(("k", "v"), attributes=0x20), 87),
    ],
    ids=[
        "one bit off",
        "truncated",
        "two batches",
        "no batch",
        "magic 1",
        "wrong count",
        "wrong last offset",
        "a control batch",
    ],
)
def test_a_bad_batch_is_refused_and_nothing_is_stored(c, topic, data, code):
    row = produce(c, topic, data)
    assert (int(row.error_code), row.base_offset) == (code, -1)
    assert end_offset(c, topic) == 0
    assert produce(c, topic, batch("good")).base_offset == 0


def test_a_batch_larger_than_the_limit_is_refused_and_one_just_below_is_kept(c, topic):
    room = 1_048_588 - len(batch("x" * 1_000_000)) + 1_000_000
    assert produce(c, topic, batch("x" * (room + 1))).error_code == 10
    assert end_offset(c, topic) == 0
    assert produce(c, topic, batch("x" * room)).error_code == 0
    assert len(fetch(c, topic).records) == 1_048_588


def test_each_partition_of_a_produce_is_taken_by_its_own_merits(c, ready):
    topic = create_topic(c, 2)
    rows = [
        {"index": 0, "records": batch("a")},
        {"index": 1, "records": one_bit_off(batch("b"))},
        {"index": 9, "records": batch("c")},
    ]
    answer = ask(
        c,
        "Produce",
        9,
        acks=-1,
        timeout=5000,
        topic_data=[
            {"name": topic, "partition_data": rows},
            {"name": "oracle-no-such-topic", "partition_data": rows[:1]},
        ],
    )
    assert {(t.name, p.index): int(p.error_code) for t in answer.responses for p in t.partition_responses} == {
        (topic, 0): 0,
        (topic, 1): 2,
        (topic, 9): 3,
        ("oracle-no-such-topic", 0): 3,
    }


@pytest.mark.parametrize("version", [3, 9, 12])
def test_producing_does_not_create_a_topic(c, ready, version):
    name = f"oracle-{uuid.uuid4().hex[:10]}"
    assert produce(c, name, batch("a"), version=version).error_code == 3
    assert described(c, name).error_code == 3


def test_a_producer_that_writes_by_id_is_told_of_an_unknown_one(c, topic):
    assert produce(c, topic, batch("x"), version=13, id=uuid.uuid4()).error_code == 100
    assert produce(c, topic, batch("x"), version=13, id=topic_id(c, topic), partition=9).error_code == 3
    assert end_offset(c, topic) == 0


# Fetch


@pytest.mark.parametrize("version", range(4, 19))
def test_every_fetch_version_gives_the_same_records(c, written, version):
    row = fetch(c, written, 2, version, id=topic_id(c, written))
    assert (int(row.error_code), row.high_watermark, row.last_stable_offset, getattr(row, "log_start_offset", 0)) == (
        0,
        6,
        6,
        0,
    )
    assert values(row) == [(2, "v2"), (3, "v3"), (4, "v4"), (5, "v5")]


def test_a_fetch_in_the_middle_of_a_batch_gives_the_whole_batch(c, written):
    assert values(fetch(c, written, 5)) == [(4, "v4"), (5, "v5")]


@pytest.mark.parametrize("offset", [7, 10**6, -1])
def test_an_offset_outside_of_the_log_is_out_of_range_and_said_at_once(c, written, offset):
    started = time.monotonic()
    row = fetch(c, written, offset, max_wait=8000)
    assert row.error_code == 1 and not row.records and time.monotonic() - started < 4


@pytest.mark.parametrize(
    "version, partition, stranger, code",
    [(12, 9, False, 3), (12, 0, True, 3), (13, 9, False, 3), (13, 0, True, 100), (17, 0, True, 100)],
)
def test_unknown_partitions_and_topics_are_said_on_their_row(c, written, version, partition, stranger, code):
    name, id = ("oracle-no-such-topic", uuid.uuid4()) if stranger else (written, topic_id(c, written))
    assert fetch(c, name, 0, version, id=id, partition=partition).error_code == code


@pytest.mark.parametrize("epoch, code", [(-1, 0), (0, 0), (1, 75)])
def test_a_leader_epoch_from_the_future_is_refused(c, written, epoch, code):
    assert fetch(c, written, 0, leader_epoch=epoch).error_code == code
    answer = ask(
        c,
        "ListOffsets",
        7,
        replica_id=-1,
        topics=[
            {
                "name": written,
                "partitions": [{"partition_index": 0, "current_leader_epoch": epoch, "timestamp": LATEST}],
            }
        ],
    )
    assert answer.topics[0].partitions[0].error_code == code


@pytest.mark.parametrize("version", [4, 11, 12])
def test_a_fetch_at_the_end_waits_for_its_time_and_is_empty(c, written, version):
    started = time.monotonic()
    row = fetch(c, written, 6, version, max_wait=400)
    assert 0.35 < time.monotonic() - started < 3
    assert (int(row.error_code), row.high_watermark, row.records or b"") == (0, 6, b"")


def test_a_fetch_at_the_end_is_answered_when_a_record_comes(connect, c, topic):
    park_fetch(c, topic, 0, max_wait=9000)
    c.silent(0.2)
    produce(connect(), topic, batch("new"))
    row = c.recv(within=4).responses[0].partitions[0]
    assert (values(row), row.high_watermark) == ([(0, "new")], 1)


def test_a_parked_committed_reader_is_woken_by_plain_records(connect, c, topic):
    park_fetch(c, topic, 0, max_wait=9000, isolation=1)
    c.silent(0.2)
    produce(connect(), topic, batch("new"))
    assert values(c.recv(within=4).responses[0].partitions[0]) == [(0, "new")]


def test_a_fetch_with_less_than_asked_gives_what_there_is_when_its_time_is_up(c, written):
    started = time.monotonic()
    row = fetch(c, written, 4, max_wait=400, min_bytes=10**6)
    assert 0.35 < time.monotonic() - started < 3 and values(row) == [(4, "v4"), (5, "v5")]


def test_no_bytes_or_no_time_means_at_once(c, written):
    started = time.monotonic()
    for waiting in ({"max_wait": 9000, "min_bytes": 0}, {"max_wait": 0, "min_bytes": 10**6}):
        assert not fetch(c, written, 6, **waiting).records
    assert time.monotonic() - started < 4


@pytest.mark.parametrize("limit", ["partition_max", "max_bytes"])
def test_at_least_one_batch_comes_whatever_the_limit(c, written, limit):
    one = len(batch("v0", "v1", at=[1000, 2000]))
    for room, count in ((0, 1), (1, 1), (one, 1), (2 * one - 1, 1), (2 * one, 2), (3 * one, 3)):
        row = fetch(c, written, 0, **{limit: room})
        assert len(parse(row.records)) == count and len(row.records) <= max(room, one), room


# Fetch sessions (KIP-227)


@pytest.mark.parametrize("version", [7, 11, 12])
def test_a_session_answers_with_what_changed(c, ready, version):
    topic = create_topic(c, 2)
    produce(c, topic, batch("a"))
    error, id, seen = session(c, 0, 0, {(topic, 0): 0, (topic, 1): 0}, version=version)
    assert error == 0 and id > 0 and seen == {(topic, 0): (0, ["a"]), (topic, 1): (0, [])}
    assert session(c, id, 1, {(topic, 0): 1}, version=version) == (0, id, {})
    produce(c, topic, batch("b"), 1)
    assert session(c, id, 2, {}, version=version) == (0, id, {(topic, 1): (0, ["b"])})
    assert session(c, id, 3, {(topic, 1): 1}, version=version) == (0, id, {})


def test_a_wrong_session_id_or_epoch_is_refused_and_the_session_goes_on(c, written):
    _, id, _ = session(c, 0, 0, {(written, 0): 4})
    assert session(c, id, 1, {}) == (0, id, {(written, 0): (0, ["v4", "v5"])})
    assert session(c, id ^ 1, 2, {}) == (70, 0, {})
    assert session(c, id, 1, {}) == session(c, id, 3, {}) == (71, 0, {})
    assert session(c, id, 2, {}) == (0, id, {(written, 0): (0, ["v4", "v5"])})


def test_a_session_ends_when_its_client_says_so(c, written):
    _, id, _ = session(c, 0, 0, {(written, 0): 6})
    assert session(c, id, -1, {(written, 0): 4}) == (0, 0, {(written, 0): (0, ["v4", "v5"])})
    assert session(c, id, 1, {}) == (70, 0, {})
    assert session(c, 0, -1, {(written, 0): 4}) == (0, 0, {(written, 0): (0, ["v4", "v5"])})  # never had one


def test_starting_a_session_anew_ends_the_one_before(c, written):
    _, id, _ = session(c, 0, 0, {(written, 0): 4})
    error, new, seen = session(c, id, 0, {(written, 0): 2})
    assert error == 0 and new not in (0, id) and seen == {(written, 0): (0, ["v2", "v3", "v4", "v5"])}
    assert session(c, id, 1, {}) == (70, 0, {}) and session(c, new, 1, {(written, 0): 6}) == (0, new, {})


# ListOffsets


@pytest.mark.parametrize("version", range(1, 12))
def test_offsets_are_found_by_end_and_by_time_in_every_version(c, written, version):
    seen = {t: list_offset(c, written, t, version=version) for t in (EARLIEST, LATEST, 0, 3000, 3001, 6000, 6001)}
    assert {t: (int(r.error_code), r.offset, r.timestamp) for t, r in seen.items()} == {
        EARLIEST: (0, 0, -1),
        LATEST: (0, 6, -1),
        0: (0, 0, 1000),
        3000: (0, 2, 3000),
        3001: (0, 3, 4000),
        6000: (0, 5, 6000),
        6001: (0, -1, -1),
    }
    assert version < 4 or [seen[t].leader_epoch for t in (EARLIEST, LATEST, 3000, 6001)] == [0, 0, 0, -1]


@pytest.mark.parametrize(
    "kind, since, row", [(NEWEST, 7, (0, 5, 6000)), (EARLIEST_LOCAL, 8, (0, 0, -1)), (LATEST_TIERED, 9, (0, -1, -1))]
)
def test_a_kind_of_offset_is_unsupported_before_its_version(c, written, kind, since, row):
    for version, expected in ((since - 1, (35, -1, -1)), (since, row), (11, row)):
        seen = list_offset(c, written, kind, version=version)
        assert (int(seen.error_code), seen.offset, seen.timestamp) == expected


def test_timestamps_out_of_order_find_the_first_record_at_or_after_the_time(c, topic):
    produce(c, topic, batch("a", "b", "c", at=[1000, 3000, 2000]))
    produce(c, topic, batch("d", "e", at=[2500, 3000]))
    assert [list_offset(c, topic, t).offset for t in (1001, 2500, 3000, 3001)] == [1, 1, 1, -1]
    newest = list_offset(c, topic, NEWEST)
    assert (newest.offset, newest.timestamp) == (1, 3000)  # the first of those with the greatest


@pytest.mark.parametrize("version", [1, 5, 11])
def test_an_empty_log_begins_and_ends_at_0_and_has_no_times(c, topic, version):
    seen = {t: list_offset(c, topic, t, version=version) for t in (EARLIEST, LATEST, 0)}
    assert {t: (int(r.error_code), r.offset, r.timestamp) for t, r in seen.items()} == {
        EARLIEST: (0, 0, -1),
        LATEST: (0, 0, -1),
        0: (0, -1, -1),
    }
    assert list_offset(c, topic, NEWEST).offset == -1


@pytest.mark.parametrize("version", [2, 3, 4])
def test_the_end_of_a_leader_epoch_is_the_end_of_the_log_or_unknown(c, written, version):
    def end(topic, current, epoch):
        row = (
            ask(
                c,
                "OffsetForLeaderEpoch",
                version,
                replica_id=-1,
                topics=[
                    {
                        "topic": topic,
                        "partitions": [{"partition": 0, "current_leader_epoch": current, "leader_epoch": epoch}],
                    }
                ],
            )
            .topics[0]
            .partitions[0]
        )
        return int(row.error_code), row.leader_epoch, row.end_offset

    assert end(written, -1, 0) == end(written, 0, 0) == (0, 0, 6)
    assert end(written, -1, 5) == (0, -1, -1)
    assert end(written, 3, 0) == (75, -1, -1) and end("oracle-no-such-topic", -1, 0) == (3, -1, -1)


# DeleteRecords


@pytest.mark.parametrize("version", [0, 1, 2])
def test_deleted_records_move_the_start_of_the_log(c, topic, version):
    def cut(offset, name=topic, partition=0):
        rows = [{"name": name, "partitions": [{"partition_index": partition, "offset": offset}]}]
        row = ask(c, "DeleteRecords", version, timeout=5000, topics=rows).topics[0].partitions[0]
        return int(row.error_code), row.low_watermark

    for value in "abcd":
        produce(c, topic, batch(value))
    assert cut(2) == (0, 2) and cut(1) == (0, 2)
    assert list_offset(c, topic, EARLIEST).offset == 2 and fetch(c, topic, 1).error_code == 1
    kept = fetch(c, topic, 2)
    assert values(kept) == [(2, "c"), (3, "d")] and kept.log_start_offset == 2
    assert cut(5) == (1, -1) and cut(-2) == (1, -1)
    assert cut(0, "oracle-no-such-topic") == (3, -1) and cut(0, partition=9) == (3, -1)
    assert cut(-1) == (0, 4) and list_offset(c, topic, EARLIEST).offset == list_offset(c, topic, LATEST).offset == 4
    assert produce(c, topic, batch("e")).base_offset == 4
