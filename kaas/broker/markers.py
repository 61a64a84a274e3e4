"""The ends of transactions, written to everything that they touched.

Job: for each partition a control batch in its log, for each group the folding in or dropping of what it staged; then tell the
transaction's coordinator.
Rules: a partition or group that is gone has nothing to be told. A marker that was written before is written again without harm;
those that could not be written are told back.
Must not know: why a transaction ends.
Source: KIP-98, KIP-890 (markers carry the epoch after the transaction's own).
"""

from __future__ import annotations

import functools
from typing import Any

from kaas.broker.broker import Broker
from kaas.broker.gathering import Gathering
from kaas.coordinator.effects import SendMarkers
from kaas.coordinator.events import EndStaged
from kaas.coordinator.offset_entry import OffsetKey
from kaas.coordinator.transactions.events import MarkersFailed, MarkersWritten
from kaas.errors import ErrorCode, KafkaError
from kaas.wire.records.control import Marker, MarkerKind, build_marker

COORDINATOR_EPOCH = 0


class MarkerWriter:
    """Writes markers at this broker."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def send(self, effect: SendMarkers) -> None:
        """Write all of them; the outcome comes as an event."""
        places: list[OffsetKey | str] = [*effect.partitions, *effect.groups]
        gathering: Gathering[OffsetKey | str, bool] = Gathering(places, functools.partial(self._done, effect))
        for key in effect.partitions:
            self._end_partition(effect, key, functools.partial(gathering.put, key))
        for group_id in effect.groups:
            self._end_group(effect, group_id, functools.partial(gathering.put, group_id))

    def _end_partition(self, effect: SendMarkers, key: OffsetKey, put: Any) -> None:
        topics = self._broker.topics
        topic = topics.registry.get(key[0])
        log = None if topic is None else topic.partition(key[1])
        if topic is None or log is None:
            put(True)
            return
        kind = MarkerKind.COMMIT if effect.committed else MarkerKind.ABORT
        data = build_marker(
            Marker(kind=kind, coordinator_epoch=COORDINATOR_EPOCH),
            producer_id=effect.producer_id,
            producer_epoch=effect.epoch,
            timestamp_ms=self._broker.clock.wall_ms(),
        )
        topics.append(topic, log, data, lambda result: put(is_ended(result)), marker=True)

    def _end_group(self, effect: SendMarkers, group_id: str, put: Any) -> None:
        self._broker.groups.submit(
            EndStaged(
                reply_to=lambda code: put(code is ErrorCode.NONE),
                group_id=group_id,
                producer_id=effect.producer_id,
                committed=effect.committed,
            )
        )

    def _done(self, effect: SendMarkers, written: dict[OffsetKey | str, bool]) -> None:
        end: dict[str, Any] = {
            "transactional_id": effect.transactional_id,
            "producer_id": effect.producer_id,
            "epoch": effect.epoch,
        }
        untold = tuple(place for place, told in written.items() if not told)
        self._broker.groups.submit(MarkersFailed(**end, untold=untold) if untold else MarkersWritten(**end))


def is_ended(result: Any) -> bool:
    """Whether a partition knows of the end: written now, or fenced because a later epoch has written since, or deleted."""
    if not isinstance(result, KafkaError):
        return True
    return result.code in (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
