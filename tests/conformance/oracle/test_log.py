"""Topics and their logs, as far as clients of groups rely on them.

Produce 3-13, Fetch 4-18, ListOffsets 1-11, OffsetForLeaderEpoch 2-4, Metadata 0-13, CreateTopics 2-7, DeleteTopics 1-6,
CreatePartitions 0-3, DeleteRecords 0-2. The broker under test creates topics on demand (auto.create.topics.enable) with one
partition, and takes batches of up to 1,048,588 bytes.
"""

import struct
import time
import uuid

import pytest
from crc32c import crc32c

from tests.conformance.oracle.calls import ask, create_topic, delete_topic, described, led, topic_id
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
from tests.conformance.oracle.wire import Client
from tests.support.waiting import until


@pytest.fixture
def topic(c, ready):
    return create_topic(c)


@pytest.fixture(scope="module")
def written(bootstrap, ready):
    """A topic with three batches of two records, offsets 0 to 5, timestamps 1000 to 6000; no test changes it."""
    with Client(bootstrap) as c:
        name = create_topic(c)
        for i in (0, 2, 4):
            assert produce(c, name, batch(f"v{i}", f"v{i + 1}", at=[1000 * (i + 1), 1000 * (i + 2)])).base_offset == i
        return name


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


# Metadata


@pytest.mark.parametrize("version", range(14))
def test_a_topic_is_described_in_every_version(c, ready, version):
    topic = create_topic(c, 2)
    answer = ask(c, "Metadata", version, topics=[{"name": topic}])
    one, (broker,) = answer.topics[0], answer.brokers
    assert (int(one.error_code), one.name, len(answer.topics)) == (0, topic, 1)
    assert sorted(
        (p.partition_index, int(p.error_code), p.leader_id, p.replica_nodes, p.isr_nodes) for p in one.partitions
    ) == [(i, 0, broker.node_id, (broker.node_id,), (broker.node_id,)) for i in (0, 1)]
    assert version < 1 or (answer.controller_id, one.is_internal) == (broker.node_id, False)
    assert version < 2 or answer.cluster_id
    assert version < 7 or {p.leader_epoch for p in one.partitions} == {0}
    assert version < 10 or one.topic_id == topic_id(c, topic) is not None
    assert version < 13 or answer.error_code == 0


@pytest.mark.parametrize("version", range(14))
def test_all_topics_or_none_are_described(c, written, version):
    every = ask(c, "Metadata", version, topics=None if version else [])
    assert written in {t.name for t in every.topics} and all(t.error_code == 0 for t in every.topics)
    assert version < 1 or all(t.is_internal == t.name.startswith("__") for t in every.topics)
    assert version < 1 or ask(c, "Metadata", version, topics=[]).topics == ()


@pytest.mark.parametrize("version", [4, 9, 12, 13])
@pytest.mark.parametrize(
    "name, code",
    [("oracle-no-such-topic", 3), ("y" * 249, 3), ("y" * 250, 17), ("two words", 17), ("", 17), ("..", 17)],
    ids=["unknown", "249 characters", "250 characters", "a space", "empty", "two dots"],
)
def test_a_topic_that_is_not_there_is_not_made_unless_allowed(c, ready, version, name, code):
    for _ in range(2):
        seen = ask(c, "Metadata", version, topics=[{"name": name}], allow_auto_topic_creation=False).topics[0]
        assert (int(seen.error_code), seen.name, seen.partitions) == (code, name, ())


@pytest.mark.parametrize("version", [0, 3, 4, 9, 13])
def test_a_topic_is_made_when_asked_for(c, ready, version):
    name = f"oracle-{uuid.uuid4().hex[:10]}"
    seen = ask(c, "Metadata", version, topics=[{"name": name}], allow_auto_topic_creation=True).topics[0]
    assert seen.error_code in (0, 3, 5)
    until(lambda: led(c, name, 1))


@pytest.mark.parametrize("version", [12, 13])
def test_a_topic_is_described_by_its_id(c, written, version):
    known = ask(c, "Metadata", version, topics=[{"topic_id": topic_id(c, written), "name": None}]).topics[0]
    assert (int(known.error_code), known.name, len(known.partitions)) == (0, written, 1)
    stranger = uuid.uuid4()
    unknown = ask(c, "Metadata", version, topics=[{"topic_id": stranger, "name": None}]).topics[0]
    assert (int(unknown.error_code), unknown.topic_id, unknown.partitions) == (100, stranger, ())


@pytest.mark.parametrize("version", [10, 11])
def test_a_topic_cannot_be_asked_for_by_id_before_version_12(c, topic, version):
    seen = ask(c, "Metadata", version, topics=[{"topic_id": topic_id(c, topic), "name": ""}]).topics[0]
    assert (int(seen.error_code), seen.partitions) == (42, ())


# Topics come, grow and go


@pytest.mark.parametrize("version", range(2, 8))
def test_a_topic_is_created_once(c, ready, version):
    name = f"oracle-{uuid.uuid4().hex[:10]}"
    rows = [{"name": name, "num_partitions": 2, "replication_factor": 1}]
    made = ask(c, "CreateTopics", version, topics=rows, timeout=5000).topics[0]
    assert (int(made.error_code), made.name) == (0, name)
    assert version < 5 or (made.num_partitions, made.replication_factor) == (2, 1)
    until(lambda: led(c, name, 2))
    assert version < 7 or made.topic_id == topic_id(c, name)
    assert ask(c, "CreateTopics", version, topics=rows, timeout=5000).topics[0].error_code == 36


@pytest.mark.parametrize(
    "values, code",
    [
        ({"name": "two words"}, 17),
        ({"name": ""}, 17),
        ({"name": "x" * 250}, 17),
        ({"num_partitions": 0}, 37),
        ({"num_partitions": -2}, 37),
        ({"replication_factor": 0}, 38),
        ({"replication_factor": 2}, 38),
        ({"configs": [{"name": "bogus", "value": "1"}]}, 40),
        ({"configs": [{"name": "retention.ms", "value": "soon"}]}, 40),
    ],
    ids=str,
)
def test_a_bad_topic_is_not_created_and_does_not_stop_a_good_one(c, ready, values, code):
    good, name = (f"oracle-{uuid.uuid4().hex[:10]}" for _ in range(2))
    plain = {"num_partitions": 1, "replication_factor": 1}
    made = ask(c, "CreateTopics", 5, topics=[{"name": name, **plain, **values}, {"name": good, **plain}], timeout=5000)
    assert {t.name: int(t.error_code) for t in made.topics} == {values.get("name", name): code, good: 0}
    until(lambda: led(c, good, 1))
    assert described(c, name).error_code == 3


def test_a_name_that_differs_in_a_dot_only_is_refused(c, ready):
    name = f"oracle.{uuid.uuid4().hex[:10]}"
    create_topic(c, name=name)
    rows = [{"name": name.replace(".", "_"), "num_partitions": 1, "replication_factor": 1}]
    assert ask(c, "CreateTopics", 5, topics=rows, timeout=5000).topics[0].error_code == 17


def test_a_topic_named_twice_in_one_request_is_neither_created_nor_deleted(c, topic):
    name = f"oracle-{uuid.uuid4().hex[:10]}"
    rows = [{"name": name, "num_partitions": 1, "replication_factor": 1}] * 2
    assert [(t.name, int(t.error_code)) for t in ask(c, "CreateTopics", 5, topics=rows, timeout=5000).topics] == [
        (name, 42)
    ]
    assert [
        int(t.error_code) for t in ask(c, "DeleteTopics", 5, topic_names=[topic, topic], timeout=5000).responses
    ] == [42]
    both = ask(c, "DeleteTopics", 6, topics=[{"name": topic, "topic_id": topic_id(c, topic)}], timeout=5000).responses
    assert [int(t.error_code) for t in both] == [42]
    assert described(c, name).error_code == 3 and described(c, topic).error_code == 0


@pytest.mark.parametrize("version", range(1, 7))
def test_a_topic_is_deleted_once(c, topic, version):
    rows = (
        {"topics": [{"name": topic}, {"name": "oracle-no-such-topic"}]}
        if version == 6
        else {"topic_names": [topic, "oracle-no-such-topic"]}
    )
    answer = ask(c, "DeleteTopics", version, timeout=5000, **rows)
    assert {t.name: int(t.error_code) for t in answer.responses} == {topic: 0, "oracle-no-such-topic": 3}
    until(lambda: described(c, topic).error_code == 3)
    assert ask(c, "DeleteTopics", 5, timeout=5000, topic_names=[topic]).responses[0].error_code == 3


def test_a_topic_is_deleted_by_its_id(c, topic):
    id, stranger = topic_id(c, topic), uuid.uuid4()
    answer = ask(c, "DeleteTopics", 6, timeout=5000, topics=[{"topic_id": id}, {"topic_id": stranger}])
    assert {t.topic_id: (int(t.error_code), t.name) for t in answer.responses} == {
        id: (0, topic),
        stranger: (100, None),
    }
    until(lambda: described(c, topic).error_code == 3)


def test_a_recreated_topic_is_another_one(c, topic):
    old = topic_id(c, topic)
    produce(c, topic, batch("a", "b"))
    delete_topic(c, topic)
    create_topic(c, 2, topic)
    new = topic_id(c, topic)
    assert new != old and end_offset(c, topic) == 0
    assert fetch(c, topic, 2).error_code == 1  # a reader of the old one is out of range, not silently at the end
    assert produce(c, topic, batch("x")).base_offset == 0
    assert fetch(c, topic, 0, 13, id=old).error_code == 100 and values(fetch(c, topic, 0, 13, id=new)) == [(0, "x")]


def test_a_producer_that_writes_by_id_is_told_of_an_unknown_one(c, topic):
    assert produce(c, topic, batch("x"), version=13, id=uuid.uuid4()).error_code == 100
    assert produce(c, topic, batch("x"), version=13, id=topic_id(c, topic), partition=9).error_code == 3
    assert end_offset(c, topic) == 0


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_added_and_never_taken_away(c, topic, version):
    def grow(count, validate_only=False):
        rows = [
            {"name": topic, "count": count, "assignments": None},
            {"name": "oracle-no-such-topic", "count": 2, "assignments": None},
        ]
        answer = ask(c, "CreatePartitions", version, topics=rows, timeout=5000, validate_only=validate_only)
        return {r.name: int(r.error_code) for r in answer.results}

    produce(c, topic, batch("kept"))
    assert grow(3, True) == grow(3) == {topic: 0, "oracle-no-such-topic": 3}
    until(lambda: led(c, topic, 3))
    assert [grow(count)[topic] for count in (3, 1, 0)] == [37, 37, 37]
    assert [end_offset(c, topic, p) for p in (0, 1, 2)] == [1, 0, 0]


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
