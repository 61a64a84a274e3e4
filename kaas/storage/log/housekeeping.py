"""The work on logs that comes with time.

Job: retention, compaction, flushes by time, expired producers; for all logs, in small steps.
Rules:
- It runs in the appender thread, between appends, so a step is short: some logs are tended, or one piece of a
  compaction done.
- It has no clock: who calls says when it is. Rounds come as often as compaction looks for work; retention is due in
  some of them only, and not before its interval is over once: records with old timestamps live for at least so long.
- An error on one log is reported and does not stop the others; the next round tries again.
Must not know: topics, when the next round is due.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.partition import PartitionLog

logger = logging.getLogger(__name__)

LOGS_PER_STEP = 50


class Housekeeping:
    """Tends all logs. `logs` gives those that there are when a round begins."""

    def __init__(
        self, logs: Callable[[], Iterable[PartitionLog]], *, retention_interval_ms: int, producer_expiration_ms: int
    ) -> None:
        self._logs = logs
        self._retention_interval_ms = retention_interval_ms
        self._producer_expiration_ms = producer_expiration_ms
        self._retained_ms: int | None = None  # when the last round with retention began
        self._retains = False  # this round does
        self._left: deque[PartitionLog] = deque()  # of this round
        self._compaction: Iterator[None] | None = None

    def step(self, now_ms: int) -> bool:
        """Does one small piece of a round. False: the round is over, and the next call begins a new one."""
        if self._compaction is not None:
            self._compact(self._compaction)
        else:
            if not self._left:
                self._begin(now_ms)
            for _ in range(min(LOGS_PER_STEP, len(self._left))):
                self._compaction = self._tend(self._left.popleft(), now_ms)
                if self._compaction is not None:
                    break
        return self._compaction is not None or bool(self._left)

    def flush(self, now_ms: int) -> None:
        """Synchronises the logs whose flush.ms is over with the disk."""
        for log in self._logs():
            try:
                log.flush_due(now_ms)
            except KafkaError as error:
                logger.error("%s is not flushed: %s", log.folder, error)

    def _begin(self, now_ms: int) -> None:
        """Begins a round."""
        if self._retained_ms is None:
            self._retained_ms = now_ms
        self._retains = now_ms - self._retained_ms >= self._retention_interval_ms
        if self._retains:
            self._retained_ms = now_ms
        self._left.extend(self._logs())

    def _tend(self, log: PartitionLog, now_ms: int) -> Iterator[None] | None:
        """Does what is due on a log at once, and gives the compaction that is due."""
        try:
            if self._retains:
                log.retain(now_ms)
                log.expire_producers(now_ms - self._producer_expiration_ms)
            return log.compaction(now_ms)
        except KafkaError as error:
            if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:  # deleted since the round began
                logger.error("%s is not tended: %s", log.folder, error)
            return None

    def _compact(self, compaction: Iterator[None]) -> None:
        """Does a piece of the compaction that is under way."""
        try:
            next(compaction)
        except StopIteration:
            self._compaction = None
        except KafkaError as error:
            self._compaction = None
            logger.error("a compaction is cut short: %s", error)
