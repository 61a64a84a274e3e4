"""What the database says of a principal now, asked once for all of its sockets.

Job: an answer that is young enough, or one question to the database that everybody shares who waits for it.
Rules: everything here runs on the event loop; the database is asked in a thread. A hundred open tabs of one session ask no
more often than one. An answer is forgotten when it is too old for anybody.
Must not know: sockets.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from channels.db import database_sync_to_async
from django.db import DatabaseError
from django.utils import timezone

from groups.access import Principal
from groups.authentication import principal_again

KEPT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What was asked at a time (seconds of the monotonic clock), and the answer, which may be on its way."""

    asked_at: float
    answer: asyncio.Task[Principal | None]


Asker = tuple[int, int | None, str | None]
_answers: dict[Asker, Answer] = {}


async def principal_since(principal: Principal, since: float) -> tuple[Principal | None, float]:
    """The principal as the database knew it at `since` (seconds of the monotonic clock) or later, null when it is gone or
    over; and when that was asked.

    Raises django.db.DatabaseError when the database does not answer.
    """
    asker = (principal.user_id, principal.token_id, principal.session_key)
    held = _answers.get(asker)
    if held is None or held.asked_at < since:
        held = _answers[asker] = Answer(asked_at=time.monotonic(), answer=asyncio.create_task(_ask(principal)))
        asyncio.get_running_loop().call_later(KEPT_S, _forget, asker, held)
    try:
        # Who waits may go away; the others still want the answer.
        return await asyncio.shield(held.answer), held.asked_at
    except DatabaseError:
        _forget(asker, held)
        raise


async def _ask(principal: Principal) -> Principal | None:
    return await database_sync_to_async(principal_again)(principal, timezone.now())


def _forget(asker: Asker, answer: Answer) -> None:
    if _answers.get(asker) is answer:
        del _answers[asker]
