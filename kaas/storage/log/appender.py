"""The thread that changes logs.

Job: take appends and other work on logs from the event loop, do all that waits, and hand the results back together.
Rules:
- Every change of a log runs here, in the order in which it was handed in, so logs need no locks.
- Appends that wait for the same log become one write. Results go back once per round, so the event loop wakes once
  for many.
- Full segments are brought onto the disk by a second thread, because that takes long; the checkpoint is written here.
- An error is the result of the work that met it. The thread never dies of one.
Must not know: asyncio (the loop's `call_soon_threadsafe` comes in through a plain callable), requests.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

from kaas.errors import ErrorCode, KafkaError
from kaas.storage.log.admission import Append, Appended
from kaas.storage.log.partition import PartitionLog
from kaas.storage.log.writer import Rolled

logger = logging.getLogger(__name__)


class Finished(NamedTuple):
    """Work that is done: what was handed in with it, and what came of it."""

    token: Any
    result: Any


class _AppendTo(NamedTuple):
    log: PartitionLog
    request: Append


class _Call(NamedTuple):
    function: Callable[[], Any]
    token: Any


_STOP = None
_NOBODY = object()  # the token of work whose result nobody waits for
_Work = _AppendTo | _Call | None


def wall_clock_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


class Appender:
    """The appender thread of a broker, with the thread that waits for the disk.

    `hand_back` is called in the appender thread with what was finished in one round; it must not block.
    """

    def __init__(self, hand_back: Callable[[list[Finished]], None], clock: Callable[[], int] = wall_clock_ms) -> None:
        self._hand_back = hand_back
        self._clock = clock
        self._waiting: SimpleQueue[_Work] = SimpleQueue()
        self._rolled: SimpleQueue[tuple[PartitionLog, Rolled] | None] = SimpleQueue()
        self._thread = Thread(target=self._run, name="appender", daemon=True)
        self._syncer = Thread(target=self._sync_rolled, name="syncer", daemon=True)
        self.last_storage_error: KafkaError | None = None  # of the last write; None while the disk takes writes

    def start(self) -> None:
        self._thread.start()
        self._syncer.start()

    def stop(self) -> None:
        """Does what waits, then ends both threads. Returns when they have ended."""
        self._waiting.put(_STOP)
        self._thread.join()
        self._rolled.put(None)
        self._syncer.join()

    # For any thread

    def append(self, log: PartitionLog, request: Append) -> None:
        """Appends a batch; `Finished(request.token, Appended or KafkaError)` is handed back."""
        self._waiting.put(_AppendTo(log, request))

    def call(self, function: Callable[[], Any], token: Any = None) -> None:
        """Runs a function in the appender thread; `Finished(token, its value or its exception)` is handed back."""
        self._waiting.put(_Call(function, token))

    # The appender thread

    def _run(self) -> None:
        stopped = False
        while not stopped:
            work = [self._waiting.get()]
            work += [self._waiting.get_nowait() for _ in range(self._waiting.qsize())]
            stopped = _STOP in work
            finished = self._round(work)
            if finished:
                self._hand_back(finished)

    def _round(self, work: Sequence[_Work]) -> list[Finished]:
        """Does some work. Appends to one log are joined; anything else comes after the appends that were handed in
        before it.
        """
        finished: list[Finished] = []
        appends: dict[PartitionLog, list[Append]] = {}
        for one in work:
            if isinstance(one, _AppendTo):
                appends.setdefault(one.log, []).append(one.request)
            elif one is not _STOP:
                self._append(appends, finished)
                result = _result_of(one.function)
                if one.token is not _NOBODY:
                    finished.append(Finished(one.token, result))
                elif isinstance(result, KafkaError):
                    logger.warning("a full segment is not checkpointed yet: %s", result)
        self._append(appends, finished)
        return finished

    def _append(self, appends: dict[PartitionLog, list[Append]], finished: list[Finished]) -> None:
        now_ms = self._clock()
        for partition_log, requests in appends.items():
            results = _results_of(partition_log, requests, now_ms)
            finished += [Finished(one.token, result) for one, result in zip(requests, results, strict=True)]
            self._note_storage(results)
            rolled = partition_log.take_rolled()
            if rolled is not None:
                self._rolled.put((partition_log, rolled))
        appends.clear()

    def _note_storage(self, results: Sequence[Appended | KafkaError]) -> None:
        refusal = self.last_storage_error
        for result in results:
            if isinstance(result, Appended):
                refusal = None
            elif result.code == ErrorCode.KAFKA_STORAGE_ERROR:
                refusal = result
        if refusal is not None and self.last_storage_error is None:
            logger.error("the disk takes no writes: %s", refusal)
        elif refusal is None and self.last_storage_error is not None:
            logger.warning("the disk takes writes again")
        self.last_storage_error = refusal

    # The thread that waits for the disk

    def _sync_rolled(self) -> None:
        while (item := self._rolled.get()) is not None:
            partition_log, rolled = item
            try:
                for segment in rolled.segments:
                    with suppress(FileNotFoundError):  # retention was faster
                        segment.sync()
            except OSError as error:
                logger.warning("a full segment of %s is not on the disk yet: %s", partition_log.folder, error)
            else:
                self.call(partial(partition_log.confirm, rolled), _NOBODY)


def _results_of(
    partition_log: PartitionLog, requests: Sequence[Append], now_ms: int
) -> Sequence[Appended | KafkaError]:
    try:
        return partition_log.append(requests, now_ms)
    except Exception as fault:  # a fault of ours: this log's producers are told, all others are served
        logger.exception("append to %s failed", partition_log.folder)
        return [KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, repr(fault))] * len(requests)


def _result_of(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except KafkaError as error:
        return error
    except Exception as fault:
        logger.exception("work on a log failed")
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, repr(fault))
