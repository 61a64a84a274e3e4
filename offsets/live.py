"""What offsets do at once when the feed tells that a group emptied: carry out its armed reset.

Job: from the feed's signal, on the event loop, to a thread with a database.
Rules: the loop is never held up; a failure is logged and left to the sweep, which looks every few seconds.
Must not know: how a reset is carried out.
"""

from __future__ import annotations

import asyncio
from typing import Any

import structlog
from django.db import connections

from offsets.services.armed import armed_apply

_log = structlog.get_logger(__name__)
_running: set[asyncio.Task] = set()


def group_emptied(sender: Any, *, cluster: str, group_id: str, **_: Any) -> None:
    """Receiver of groups.extension.group_emptied."""
    task = asyncio.get_running_loop().create_task(asyncio.to_thread(_apply, cluster, group_id))
    _running.add(task)  # the loop itself holds a task only weakly
    task.add_done_callback(_running.discard)


def _apply(cluster: str, group_id: str) -> None:
    try:
        armed_apply(cluster, group_id)
    except Exception:
        _log.exception("armed_reset_failed", cluster=cluster, group=group_id)
    finally:
        connections.close_all()  # this thread belongs to no request that would do it
