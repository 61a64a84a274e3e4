"""Bytes on a connection: ApiVersions 0-4 and its exceptions, requests that cannot be read, and the order of answers.

A request that Kafka cannot read has no answer: the connection closes, and no other connection notices.
"""

import struct
import uuid

import pytest

from tests.conformance.oracle.calls import ask, put, shape
from tests.conformance.oracle.frames import (
    API_VERSIONS,
    FIND_COORDINATOR,
    LIST_GROUPS,
    METADATA,
    decoded,
    frame,
    head,
)
from tests.conformance.oracle.groups import Member, beat, commit_code, join_values, leave, preparing
from tests.conformance.oracle.records import batch, end_offset, produce, produce_values
from tests.conformance.oracle.wire import Client, encode, entity
from tests.support.waiting import until

# ApiVersions

# The versions that clients of groups rely on; a broker may advertise more.
NEEDED = {
    "Produce": (3, 11),
    "Fetch": (4, 16),
    "ListOffsets": (1, 8),
    "Metadata": (0, 12),
    "OffsetCommit": (2, 9),
    "OffsetFetch": (1, 9),
    "FindCoordinator": (0, 4),
    "JoinGroup": (0, 9),
    "Heartbeat": (0, 4),
    "LeaveGroup": (0, 5),
    "SyncGroup": (0, 5),
    "DescribeGroups": (0, 6),
    "ListGroups": (0, 5),
    "ApiVersions": (0, 4),
    "CreateTopics": (2, 7),
    "DeleteTopics": (1, 6),
    "DeleteRecords": (0, 2),
    "InitProducerId": (0, 4),
    "OffsetForLeaderEpoch": (2, 4),
    "AddPartitionsToTxn": (0, 3),
    "AddOffsetsToTxn": (0, 3),
    "EndTxn": (0, 3),
    "TxnOffsetCommit": (0, 5),
    "DescribeConfigs": (1, 4),
    "CreatePartitions": (0, 3),
    "DeleteGroups": (0, 2),
    "OffsetDelete": (0, 0),
    "ConsumerGroupHeartbeat": (0, 1),
    "ConsumerGroupDescribe": (0, 1),
}


@pytest.mark.parametrize("version", range(5))
def test_the_table_of_versions_names_each_api_once(c, version):
    answer = ask(c, "ApiVersions", version, client_software_name="oracle", client_software_version="1.0")
    rows = {k.api_key: (k.min_version, k.max_version) for k in answer.api_keys}
    assert answer.error_code == 0 and len(rows) == len(answer.api_keys)
    assert all(0 <= low <= high for low, high in rows.values())


@pytest.mark.parametrize("api", NEEDED)
def test_the_table_promises_what_clients_rely_on(c, api):
    low, high = NEEDED[api]
    key = entity(api, high, "request").__api_key__
    ((lowest, highest),) = [
        (k.min_version, k.max_version) for k in ask(c, "ApiVersions", 0).api_keys if k.api_key == key
    ]
    assert lowest <= low and high <= highest
    assert api not in ("Produce", "JoinGroup") or lowest == 0  # librdkafka before 2.11 looks for these


@pytest.mark.parametrize("feature, level", [("group.version", 1), ("transaction.version", 2)])
@pytest.mark.parametrize("version", [3, 4])
def test_finalized_features_name_the_group_and_transaction_protocols(c, version, feature, level):
    """https://github.com/strimzi/strimzi-kafka-operator/issues/12406"""
    answer = ask(c, "ApiVersions", version, client_software_name="oracle", client_software_version="1.0")
    assert answer.finalized_features_epoch >= 0
    assert {f.name: (f.min_version_level, f.max_version_level) for f in answer.finalized_features}[feature] == (
        level,
        level,
    )


@pytest.mark.parametrize("version", [5, 99, 32767, -1])
def test_an_unknown_version_of_the_table_is_answered_in_version_0(c, version):
    c.send_raw(head(API_VERSIONS, version, 77, flexible=True))
    payload = c.recv_raw()
    assert payload[:4] == struct.pack(">i", 77)
    answer = decoded("ApiVersions", 0, payload)
    assert answer.error_code == 35
    assert [(k.api_key, k.min_version, k.max_version) for k in answer.api_keys] == [(API_VERSIONS, 0, 4)]
    assert ask(c, "ApiVersions", 0).error_code == 0  # the client tries again on the same connection


@pytest.mark.parametrize(
    "name, version",
    [
        ("", "1"),
        ("oracle", ""),
        ("two words", "1"),
        ("oracle", "1 2"),
        ("-a", "1"),
        ("a-", "1"),
        ("a.", "1"),
        ("a_b", "1"),
        ("ü", "1"),
    ],
)
def test_a_client_must_say_its_name_and_version_properly(c, name, version):
    answer = ask(c, "ApiVersions", 3, client_software_name=name, client_software_version=version)
    assert answer.error_code == 42 and answer.api_keys == ()
    assert ask(c, "ApiVersions", 3, client_software_name="a-b.c", client_software_version="1.0-x").error_code == 0


# Requests that cannot be read


@pytest.mark.parametrize(
    "key, version",
    [(999, 0), (-1, 0), (METADATA, 14), (METADATA, -1), (9, 0), (1, 3), (11, 10), (8, 1), (22, 6), (47, 1)],
)
def test_an_unknown_api_or_version_closes_the_connection(closes, key, version):
    closes(frame(head(key, version, flexible=True) + b"\0" * 64))


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">i", 0),
        struct.pack(">i", -1),
        struct.pack(">i", -(2**31)),
        struct.pack(">i", 2**31 - 1),
        struct.pack(">i", 100 * 2**20 + 1),
        b"GET / HTTP/1.1\r\nHost: kafka\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03" + b"\0" * 64,
    ],
    ids=["zero", "negative", "most negative", "2 GiB", "over 100 MiB", "HTTP", "TLS"],
)
def test_an_impossible_frame_length_closes_the_connection(closes, data):
    closes(data)


@pytest.mark.parametrize(
    "payload",
    [
        b"\0",
        b"\0\x03",
        struct.pack(">hhi", METADATA, 1, 1)[:7],
        struct.pack(">hhi", LIST_GROUPS, 0, 1),
        struct.pack(">hhih", LIST_GROUPS, 0, 1, 50) + b"short",
        head(METADATA, 1),
        head(METADATA, 1) + b"\0\0",
        head(FIND_COORDINATOR, 0) + b"\x7f\xff",
        head(FIND_COORDINATOR, 0) + b"\xff\xff",
        head(METADATA, 1) + struct.pack(">i", 2**31 - 1),
        head(METADATA, 12, flexible=True) + b"\xff\xff\xff\xff\x0f",
        head(FIND_COORDINATOR, 3) + b"\xff" * 12,
    ],
    ids=[
        "1 byte",
        "2 bytes",
        "half a correlation id",
        "no client id",
        "client id cut",
        "no body",
        "body cut",
        "string cut",
        "null for a string",
        "array of 2 G",
        "compact array of 4 G",
        "endless varint",
    ],
)
def test_a_truncated_or_impossible_body_closes_the_connection(closes, payload):
    closes(frame(payload))


def test_noise_closes_its_own_connection_only(closes, c):
    half = frame(head(METADATA, 1) + struct.pack(">i", 0))
    c.socket.sendall(half[:9])  # a request that somebody is still sending
    for noise in (b"\xff" * 200, b"\0\0\0\x10" + bytes(range(200, 248)), b"\0" * 64):
        closes(noise)
    c.socket.sendall(half[9:])
    assert c.recv_raw()[:4] == struct.pack(">i", 1)


@pytest.mark.parametrize("client", [None, b"", b"x" * 1000], ids=["null", "empty", "long"])
def test_any_client_id_is_served(c, ready, client):
    c.send_raw(head(LIST_GROUPS, 0, 5, client))
    assert decoded("ListGroups", 0, c.recv_raw()).error_code == 0


def test_bytes_after_the_body_are_ignored(c, ready):
    c.send_raw(head(FIND_COORDINATOR, 0, 5) + b"\0\1g" + b"more")
    assert decoded("FindCoordinator", 0, c.recv_raw()).error_code == 0


# Order


def test_a_request_may_come_byte_by_byte(c, connect):
    for byte in frame(head(METADATA, 1, 9) + struct.pack(">i", 0)):
        c.socket.sendall(bytes([byte]))
    assert decoded("Metadata", 1, c.recv_raw()).brokers


def test_pipelined_requests_are_answered_in_order_with_their_correlation_ids(c, lasting):
    asked, data = [], b""
    for i in range(60):
        api, version, values = [
            ("Metadata", 12, {"topics": [{"name": lasting}]}),
            ("ApiVersions", 0, {}),
            ("ListGroups", 4, {}),
            ("FindCoordinator", 2, {"key": "g"}),
            ("OffsetFetch", 7, {"group_id": "oracle-none", "topics": None}),
        ][i % 5]
        correlation = (i * 2_654_435_761) % 2**32 - 2**31  # in no order, negative too
        asked.append(correlation)
        data += frame(encode(api, version, correlation, **shape(api, version, **values)))
    c.socket.sendall(data)
    assert [struct.unpack(">i", c.recv_raw()[:4])[0] for _ in asked] == asked


def test_a_correlation_id_may_repeat(c, ready):
    c.socket.sendall(frame(head(LIST_GROUPS, 0, 7)) * 3)
    assert [c.recv_raw()[:4] for _ in range(3)] == [b"\0\0\0\7"] * 3


def test_a_parked_join_holds_back_its_own_connection_only(connect, c, group, lasting):
    parked = connect()
    member = preparing(c, parked, group, [lasting])
    put(parked, "Metadata", 1, topics=[])
    put(parked, "FindCoordinator", 2, key="g")
    parked.silent(0.3)
    assert ask(connect(), "Metadata", 1, topics=[]).brokers and beat(c, group, member) == 27
    leave(c, group, member)
    assert parked.recv().error_code == 0
    assert parked.recv().brokers and parked.recv().error_code == 0


def test_an_unacknowledged_produce_has_no_answer_and_the_next_request_has(c, second):
    before = end_offset(c, second)
    put(c, "Produce", 9, **produce_values(second, batch("a"), acks=0))
    put(c, "Produce", 3, **produce_values(second, batch("b"), acks=0))
    del c.sent[:]
    assert ask(c, "Metadata", 1, topics=[]).brokers
    until(lambda: end_offset(c, second) == before + 2)


def test_a_connection_goes_on_after_every_kind_of_error_answer(c, group, lasting):
    for _ in range(2):
        assert ask(c, "Heartbeat", 3, group_id=group, generation_id=1, member_id="ghost").error_code == 25
        assert commit_code(c, group, lasting, Member("ghost", 3)) == 22
        assert ask(c, "JoinGroup", 5, **join_values("")).error_code == 24
        assert ask(c, "DeleteGroups", 2, groups_names=[group]).results[0].error_code == 69
        assert ask(c, "FindCoordinator", 2, key="g", key_type=9).error_code == 42
        assert ask(c, "ConsumerGroupHeartbeat", 1, group_id=group, member_id="ghost", member_epoch=3).error_code == 69
        assert produce(c, "oracle-no-such-topic", batch("a")).error_code == 3
        assert (
            ask(c, "DeleteTopics", 6, topics=[{"topic_id": uuid.uuid4()}], timeout=1000).responses[0].error_code == 100
        )


def test_a_member_that_hangs_up_while_its_join_is_parked_is_still_a_member(connect, c, group, lasting):
    parked = connect()
    member = preparing(c, parked, group, [lasting])
    parked.close()
    answer = ask(c, "JoinGroup", 5, **join_values(group, [lasting], member.id))
    assert (int(answer.error_code), answer.generation_id, len(answer.members)) == (0, member.generation + 1, 2)


def test_clients_that_go_in_the_middle_of_a_request_do_no_harm(connect, c, group, lasting):
    whole = frame(encode("Metadata", 12, 1, **shape("Metadata", 12, topics=[{"name": lasting}])))
    for cut in (0, 1, 4, 5, 12, len(whole) - 1, len(whole)):
        for _ in range(3):
            one = connect()
            one.socket.sendall(whole[:cut])
            one.close()
        assert ask(c, "Metadata", 12, topics=[{"name": lasting}]).topics[0].error_code == 0


def test_forty_connections_are_served_at_once(bootstrap, lasting):
    crowd = [Client(bootstrap) for _ in range(40)]
    try:
        for one in crowd:
            put(one, "Metadata", 12, topics=[{"name": lasting}])
        assert all(one.recv().topics[0].error_code == 0 for one in reversed(crowd))
    finally:
        for one in crowd:
            one.close()
