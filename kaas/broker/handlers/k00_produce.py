"""Produce (key 0), versions 3-13: writes batches of records.

Versions: 5 log start offset in the answer; 7 zstd (76 below); 8 error messages; 9 flexible; 10 current leader, which
is always this broker's own and left out; 11 a partition that is not in its transaction is 120 (48 below); 12 it is
added to the transaction instead (KIP-890); 13 topics by id.
Versions 0-2 are advertised, because old librdkafka looks for them to learn of compressions, and close the connection.
Left out: messages about single records.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from kaas.broker.broker import Broker
from kaas.broker.gathering import Gathering
from kaas.broker.partitions import partition_of, topic_named, topic_with_id
from kaas.broker.request import Request
from kaas.broker.security.guard import may
from kaas.broker.security.operations import Kind, Operation
from kaas.coordinator.transactions.events import AddAnswer, AddToTransaction
from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.admission import Appended
from kaas.storage.log.partition import PartitionLog
from kaas.storage.topics import Topic
from kaas.wire.apis import PRODUCE
from kaas.wire.records.codec import Codec
from kaas.wire.records.header import CODEC_MASK, TRANSACTIONAL, peek_attributes, read_header

API = PRODUCE
NO_ACKS, ALL_ACKS = 0, -1
BY_ID_SINCE = 13
ZSTD_SINCE = 7
ABORTABLE_SINCE = 11
ADDS_SINCE = 12
UNKNOWN = -1

Place = tuple[int, int]
"""A row of the request: number of the topic, number of the partition in it."""
Producer = tuple[int, int]
"""Producer id and epoch."""


class Row(NamedTuple):
    """What came of one partition."""

    result: Appended | KafkaError
    log_start_offset: int = UNKNOWN


class Batch(NamedTuple):
    """A batch that its log may take: where it goes, and the producer whose transaction must hold the partition, if
    any.
    """

    topic: Topic
    log: PartitionLog
    data: bytes
    producer: Producer | None


def handle(broker: Broker, request: Request) -> None:
    """Serve a Produce."""
    message = request.decode()
    rows = {
        (i, j): (topic, row) for i, topic in enumerate(message.topic_data) for j, row in enumerate(topic.partition_data)
    }
    gathering: Gathering[Place, Row] = Gathering(rows, functools.partial(reply, request, message))
    refusal = refuse_all(request, message, [row for _, row in rows.values()])
    batches: dict[Place, Batch] = {}
    for place, (topic, row) in rows.items():
        try:
            if refusal is not None:
                raise refusal
            batches[place] = admit(broker, request, message.acks, topic, row)
        except KafkaError as error:
            gathering.put(place, Row(error))
    for producer in dict.fromkeys(batch.producer for batch in batches.values()):
        theirs = {place: batch for place, batch in batches.items() if batch.producer == producer}
        if producer is None:
            append(broker, gathering, theirs)
        else:
            verify(broker, request, message.transactional_id, producer, gathering, theirs)


def refuse_all(request: Request, message: Any, rows: list[Any]) -> KafkaError | None:
    """What refuses every partition of a request."""
    if message.acks not in (ALL_ACKS, NO_ACKS, 1):
        return KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
    if not any(peek_attributes(row.records or b"") & TRANSACTIONAL for row in rows):
        return None
    if message.transactional_id is None:
        return KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "a transaction needs a transactional id")
    if not may(request, Operation.WRITE, Kind.TRANSACTIONAL_ID, message.transactional_id):
        return KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return None


def admit(broker: Broker, request: Request, acks: int, named: Any, row: Any) -> Batch:
    """What can be said of a batch before its log sees it. Raises: KafkaError."""
    data = row.records or b""
    topic = topic_for(broker, request, named)
    log = partition_of(topic, row.index)
    attributes = peek_attributes(data)
    if request.version < ZSTD_SINCE and attributes & CODEC_MASK == Codec.ZSTD:
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce 7")
    if acks == ALL_ACKS and log.config.min_insync_replicas > 1:
        raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS, "the topic wants more replicas in sync than there are")
    producer = None
    if attributes & TRANSACTIONAL:
        header = read_header(data)
        if not log.is_open(header.producer_id, header.producer_epoch):
            producer = (header.producer_id, header.producer_epoch)
    return Batch(topic, log, data, producer)


def topic_for(broker: Broker, request: Request, named: Any) -> Topic:
    """The topic, if it may be written to. Raises: KafkaError."""
    registry, by_id = broker.topics.registry, request.version >= BY_ID_SINCE
    name = topic_with_id(registry, named.topic_id).name if by_id else named.name
    if not may(request, Operation.WRITE, Kind.TOPIC, name):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return topic_named(registry, name)


def verify(
    broker: Broker,
    request: Request,
    transactional_id: str,
    producer: Producer,
    gathering: Gathering[Place, Row],
    batches: dict[Place, Batch],
) -> None:
    """The first batch of a transaction in a partition: its coordinator says whether the partition is in it, or adds
    it.
    """
    keys = {place: (batch.topic.name, batch.log.partition) for place, batch in batches.items()}

    def answered(answer: AddAnswer) -> None:
        outside = ErrorCode.TRANSACTION_ABORTABLE if request.version >= ABORTABLE_SINCE else ErrorCode.INVALID_TXN_STATE
        inside = {}
        for place, key in keys.items():
            code = outside if key in answer.missing else answer.code
            if code:
                gathering.put(place, Row(KafkaError(code)))
            else:
                inside[place] = batches[place]
        append(broker, gathering, inside)

    broker.groups.submit(
        AddToTransaction(
            reply_to=answered,
            transactional_id=transactional_id,
            producer_id=producer[0],
            epoch=producer[1],
            partitions=tuple(keys.values()),
            verify_only=request.version < ADDS_SINCE,
            fenced_code=ErrorCode.INVALID_PRODUCER_EPOCH,
        )
    )


def append(broker: Broker, gathering: Gathering[Place, Row], batches: dict[Place, Batch]) -> None:
    """Hand batches to their logs."""
    for place, batch in batches.items():
        put = functools.partial(gathering.put, place)
        broker.topics.append(batch.topic, batch.log, batch.data, functools.partial(appended, batch.log, put))


def appended(log: PartitionLog, put: Any, result: Appended | KafkaError) -> None:
    """A batch lies in its log, or was refused."""
    try:
        put(Row(result, log.view.log_start_offset))
    except KafkaError as error:  # the topic was deleted since
        put(Row(error))


def reply(request: Request, message: Any, rows: dict[Place, Row]) -> None:
    """Answer with all rows; without acks an error can only be told by the end of the connection."""
    if message.acks == NO_ACKS:
        refused = next((row.result for row in rows.values() if isinstance(row.result, KafkaError)), None)
        if refused is None:
            request.answer_nothing()
        else:
            request.refuse(f"a batch that wants no answer is refused: {refused.message}")
        return
    responses = []
    for i, topic in enumerate(message.topic_data):
        answers = [values(row.index, rows[i, j]) for j, row in enumerate(topic.partition_data)]
        key = {"topic_id": topic.topic_id} if request.version >= BY_ID_SINCE else {"name": topic.name}
        responses.append({**key, "partition_responses": answers})
    request.answer({"responses": responses})


def values(index: int, row: Row) -> dict[str, Any]:
    """One partition of the answer."""
    if isinstance(row.result, KafkaError):
        return {
            "index": index,
            "error_code": row.result.code,
            "base_offset": UNKNOWN,
            "log_append_time": UNKNOWN,
            "error_message": row.result.message,
        }
    return {
        "index": index,
        "error_code": ErrorCode.NONE,
        "base_offset": row.result.base_offset,
        "log_append_time": row.result.append_time_ms,
        "log_start_offset": row.log_start_offset,
    }
