"""Markers in real logs and groups: all are told, those that refuse are told back, and a second time does no harm."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from kaas.broker.markers import MarkerWriter, is_ended
from kaas.coordinator.effects import SendMarkers
from kaas.coordinator.transactions.events import MarkersFailed, MarkersWritten
from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.admission import Appended
from kaas.wire.apis import DELETE_GROUPS, DELETE_TOPICS, END_TXN
from kaas.wire.records.control import MarkerKind, read_marker
from kaas.wire.records.walk import batches
from tests.broker.handlers.groups import committed
from tests.broker.handlers.topics import create, fetch, values
from tests.broker.handlers.transactions import Producer, begin, ends_of, stage, write
from tests.support.disk import refusing
from tests.support.in_process import serving, until

T0, T1 = ("t", 0), ("t", 1)


class Listener:
    """Stands where the transaction's coordinator does, and keeps what the writer tells it."""

    def __init__(self, peer: Any) -> None:
        self.told: list[MarkersWritten | MarkersFailed] = []
        self._submit = peer.broker.groups.submit
        peer.broker.groups.submit = self.submit

    def submit(self, event: Any) -> None:
        if isinstance(event, MarkersWritten | MarkersFailed):
            self.told.append(event)
        else:
            self._submit(event)

    async def outcome(self) -> MarkersWritten | MarkersFailed:
        """What it is told next."""

        async def heard() -> bool:
            return bool(self.told)

        await until(heard)
        return self.told.pop()


def effect(producer: Producer, *, epoch: int = 1, committed: bool = True, partitions: Any = (), groups: Any = ()):
    return SendMarkers(
        transactional_id=producer.name,
        producer_id=producer.id,
        epoch=epoch,
        committed=committed,
        partitions=partitions,
        groups=groups,
    )


async def open_transaction(peer) -> Producer:
    """With a record in each of two partitions and an offset in a group."""
    await create(peer, "t", 2)
    producer = await begin(peer)
    assert await write(peer, producer, "t", "a") == await write(peer, producer, "t", "b", partition=1) == 0
    assert await stage(peer, producer, {T0: 5}) == {T0: 0}
    return producer


def markers(row: Any) -> list[tuple[int, int, MarkerKind]]:
    """(producer id, epoch, kind) of the markers in a fetched partition."""
    data = bytes(row.records or b"")
    found = []
    for position, header in batches(data):
        if header.is_control:
            marker = read_marker(data, position, header)
            assert marker is not None
            found.append((header.producer_id, header.producer_epoch, marker.kind))
    return found


@pytest.mark.parametrize("commits", [True, False])
async def test_every_partition_and_group_is_told(tmp_path, commits):
    async with serving(tmp_path) as peer:
        producer = await open_transaction(peer)
        listener = Listener(peer)
        MarkerWriter(peer.broker).send(effect(producer, committed=commits, partitions=(T0, T1), groups=("g",)))
        assert await listener.outcome() == MarkersWritten(transactional_id="pay", producer_id=producer.id, epoch=1)
        kind = MarkerKind.COMMIT if commits else MarkerKind.ABORT
        for partition, value in ((0, "a"), (1, "b")):
            assert await ends_of(peer, "t", partition) == (2, 2)
            row = await fetch(peer, "t", 0, partition=partition)
            assert values(row) == [(0, value)] and markers(row) == [(producer.id, 1, kind)]
        assert await committed(peer) == ({T0: 5} if commits else {})


async def test_nothing_to_tell_is_told_at_once(tmp_path):
    async with serving(tmp_path) as peer:
        producer = await begin(peer)
        listener = Listener(peer)
        MarkerWriter(peer.broker).send(effect(producer))
        assert listener.told == [MarkersWritten(transactional_id="pay", producer_id=producer.id, epoch=1)]


async def test_what_is_gone_has_nothing_to_be_told(tmp_path):
    async with serving(tmp_path) as peer:
        producer = await open_transaction(peer)
        listener = Listener(peer)
        places = {"partitions": (T0, ("t", 9), ("u", 0)), "groups": ("g", "nobody")}
        await peer.ask(DELETE_GROUPS, 2, groups_names=["g"])
        MarkerWriter(peer.broker).send(effect(producer, **places))
        assert isinstance(await listener.outcome(), MarkersWritten)
        assert await committed(peer) == {} and await ends_of(peer, "t") == (2, 2)


async def test_a_topic_that_goes_meanwhile_keeps_nobody_back(tmp_path):
    async with serving(tmp_path) as peer:
        producer = await open_transaction(peer)
        listener = Listener(peer)
        peer.put(DELETE_TOPICS, 5, topic_names=["t"], timeout=10_000)
        MarkerWriter(peer.broker).send(effect(producer, partitions=(T0, T1)))
        assert isinstance(await listener.outcome(), MarkersWritten)
        await peer.get()


async def test_logs_that_refuse_are_told_back_and_the_group_is_not(tmp_path):
    async with serving(tmp_path) as peer:
        producer = await open_transaction(peer)
        listener = Listener(peer)
        with refusing("pwritev", "pwrite"):
            MarkerWriter(peer.broker).send(effect(producer, partitions=(T0, T1), groups=("g",)))
            failed = await listener.outcome()
        assert failed == MarkersFailed(transactional_id="pay", producer_id=producer.id, epoch=1, untold=(T0, T1))
        assert await committed(peer) == {T0: 5} and await ends_of(peer, "t") == (0, 1)


async def test_a_group_that_refuses_is_told_back_and_the_logs_are_not(tmp_path):
    async with serving(tmp_path) as peer:
        producer = await open_transaction(peer)
        listener = Listener(peer)
        with refusing("write"):
            MarkerWriter(peer.broker).send(effect(producer, partitions=(T0, T1), groups=("g", "nobody")))
            failed = await listener.outcome()
        assert isinstance(failed, MarkersFailed) and failed.untold == ("g",)
        assert await committed(peer) == {} and await ends_of(peer, "t") == (2, 2)


async def test_a_second_time_does_no_harm(tmp_path):
    async with serving(tmp_path) as peer:
        producer = await open_transaction(peer)
        listener = Listener(peer)
        for _ in range(2):
            MarkerWriter(peer.broker).send(effect(producer, partitions=(T0,), groups=("g",)))
            assert isinstance(await listener.outcome(), MarkersWritten)
        row = await fetch(peer, "t", 0, 11, isolation_level=1)
        assert values(row) == [(0, "a")] and row.aborted_transactions == ()
        assert await committed(peer) == {T0: 5}


class Interrupted:
    """The disk refuses these calls from the moment when the first markers set out."""

    def __init__(self, peer: Any, *calls: str) -> None:
        self.disk = contextlib.ExitStack()
        self.sent: list[SendMarkers] = []
        self._calls = calls
        self._writer = peer.broker.groups.markers
        peer.broker.groups.markers = self

    def send(self, effect: SendMarkers) -> None:
        if not self.sent:
            self.disk.enter_context(refusing(*self._calls))
        self.sent.append(effect)
        self._writer.send(effect)


@pytest.mark.parametrize(
    ("calls", "untold"), [(("pwritev", "pwrite"), [(T0, T1), ()]), (("write",), [(), ("g",)])], ids=["log", "journal"]
)
async def test_an_end_waits_until_the_disk_takes_its_markers(tmp_path, calls, untold):
    async with serving(tmp_path) as peer:
        producer = await open_transaction(peer)
        interrupted = Interrupted(peer, *calls)
        peer.put(END_TXN, 5, **producer.values, committed=True)

        async def tried_again() -> bool:
            return len(interrupted.sent) > 1

        with interrupted.disk:
            await until(tried_again)
        assert (await peer.get()).error_code == 0
        assert [interrupted.sent[1].partitions, interrupted.sent[1].groups] == untold
        assert await committed(peer) == {T0: 5}
        for partition in (0, 1):
            assert await ends_of(peer, "t", partition) == (2, 2), "one marker each"


def test_who_was_told_and_who_was_not():
    ended = [Appended(base_offset=3), KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH)]
    assert all(is_ended(result) for result in (*ended, KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)))
    for code in (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR):
        assert not is_ended(KafkaError(code))
