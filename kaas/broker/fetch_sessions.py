"""Fetch sessions: a client names its partitions once and then only what changes (KIP-227).

Job: open, continue and close sessions, and remember what a client was told last.
Rules:
- A request with epoch 0 opens a session and names everything, one with epoch -1 closes it and is answered once; any
  other must carry the next epoch. Opening or closing ends the session that the request names.
- A continued session answers with the partitions that have something new: records, another end or start of the log,
  an error.
- Partitions whose records were sent go to the end of the order, so that none is starved by the byte limit.
- The number of sessions is bounded. When all places are taken the one that was idle longest gives way, if it was
  idle for `IDLE_MS`; otherwise the client gets no session and names everything each time.
Must not know: logs, how records are read.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from kaas.errors import ErrorCode, KafkaError

NO_SESSION = 0
OPENING_EPOCH = 0
CLOSING_EPOCH = -1
IDLE_MS = 120_000

_GREATEST = 2**31 - 1
_NEVER_TOLD = -1

PartitionKey = tuple[str | UUID, int]
"""A topic's name, or its id from version 13 on, and a partition number."""


class FetchedPartition:
    """One partition that a client fetches: what it asked for last, and what it was told last."""

    __slots__ = ("fetch_offset", "high_watermark", "key", "leader_epoch", "log_start_offset", "max_bytes")

    def __init__(self, key: PartitionKey, asked: Any) -> None:
        self.key = key
        self.high_watermark = _NEVER_TOLD
        self.log_start_offset = _NEVER_TOLD
        self.ask(asked)

    def ask(self, asked: Any) -> None:
        """Takes up what a request says of the partition."""
        self.fetch_offset: int = asked.fetch_offset
        self.max_bytes: int = asked.partition_max_bytes
        self.leader_epoch: int = getattr(asked, "current_leader_epoch", -1)

    def tell(self, code: ErrorCode, high_watermark: int, log_start_offset: int, *, has_records: bool) -> bool:
        """Notes an answer. Whether it says anything new."""
        news = bool(has_records or code or (high_watermark, log_start_offset) != self._told())
        self.high_watermark = _NEVER_TOLD if code else high_watermark  # told again when the error is over
        self.log_start_offset = log_start_offset
        return news

    def _told(self) -> tuple[int, int]:
        return self.high_watermark, self.log_start_offset


class FetchSession:
    """One session. `epoch` is the one that the next request must carry."""

    __slots__ = ("by_id", "epoch", "partitions", "session_id", "used_ms")

    def __init__(
        self, session_id: int, partitions: dict[PartitionKey, FetchedPartition], now_ms: int, *, by_id: bool
    ) -> None:
        self.session_id = session_id
        self.partitions = partitions
        self.by_id = by_id
        self.epoch = 1
        self.used_ms = now_ms

    def update(self, asked: dict[PartitionKey, Any], forgotten: Iterable[PartitionKey]) -> None:
        """Takes up what a request adds, changes and forgets."""
        for key, row in asked.items():
            known = self.partitions.get(key)
            if known is None:
                self.partitions[key] = FetchedPartition(key, row)
            else:
                known.ask(row)
        for key in forgotten:
            self.partitions.pop(key, None)

    def move_last(self, key: PartitionKey) -> None:
        """Others come first next time."""
        partition = self.partitions.pop(key, None)
        if partition is not None:
            self.partitions[key] = partition


class Continuation:
    """What one request asks for: partitions in their order, and how it is answered.

    `session` None: everything is told, under session id 0. `is_incremental`: only what is new is told.
    """

    __slots__ = ("is_incremental", "partitions", "session")

    def __init__(
        self, session: FetchSession | None, partitions: list[FetchedPartition], *, is_incremental: bool
    ) -> None:
        self.session = session
        self.partitions = partitions
        self.is_incremental = is_incremental

    @property
    def session_id(self) -> int:
        return NO_SESSION if self.session is None else self.session.session_id


class FetchSessions:
    """All sessions of a broker, the longest unused one first. Used from the event loop only."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def take(
        self,
        session_id: int,
        epoch: int,
        asked: dict[PartitionKey, Any],
        forgotten: Iterable[PartitionKey],
        now_ms: int,
        *,
        by_id: bool,
    ) -> Continuation:
        """What a request asks for, by the session that it opens, continues or closes.

        Raises: KafkaError FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR.
        """
        if epoch not in (OPENING_EPOCH, CLOSING_EPOCH):
            return self._continue(session_id, epoch, asked, forgotten, now_ms, by_id=by_id)
        self._sessions.pop(session_id, None)
        partitions = {key: FetchedPartition(key, row) for key, row in asked.items()}
        session = self._open(partitions, now_ms, by_id=by_id) if epoch == OPENING_EPOCH else None
        return Continuation(session, list(partitions.values()), is_incremental=False)

    def _continue(
        self,
        session_id: int,
        epoch: int,
        asked: dict[PartitionKey, Any],
        forgotten: Iterable[PartitionKey],
        now_ms: int,
        *,
        by_id: bool,
    ) -> Continuation:
        session = self._sessions.get(session_id)
        if session is None:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if epoch != session.epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if by_id != session.by_id:
            raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        session.update(asked, forgotten)
        if not session.partitions:
            del self._sessions[session_id]
            return Continuation(None, [], is_incremental=False)
        session.epoch = session.epoch % _GREATEST + 1
        session.used_ms = now_ms
        self._sessions.move_to_end(session_id)
        return Continuation(session, list(session.partitions.values()), is_incremental=True)

    def _open(
        self, partitions: dict[PartitionKey, FetchedPartition], now_ms: int, *, by_id: bool
    ) -> FetchSession | None:
        """A new session, if there is room."""
        if not partitions or not self._make_room(now_ms):
            return None
        session_id = random.randint(1, _GREATEST)
        while session_id in self._sessions:
            session_id = random.randint(1, _GREATEST)
        session = self._sessions[session_id] = FetchSession(session_id, partitions, now_ms, by_id=by_id)
        return session

    def _make_room(self, now_ms: int) -> bool:
        if len(self._sessions) >= self._slots and self._sessions:
            idlest = next(iter(self._sessions.values()))
            if now_ms - idlest.used_ms > IDLE_MS:
                del self._sessions[idlest.session_id]
        return len(self._sessions) < self._slots
