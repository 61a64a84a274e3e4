"""The feeds in a process without an event loop of its own: a worker, whose tasks sample lag and judge alerts from the index.

Job: start and stop a thread that reads every cluster's feed.
Must not know: what the tasks do with it.
"""

from __future__ import annotations

import asyncio
import threading

from groups.feeds import running_feeds

STOP_WITHIN_S = 10.0


class FeedThread:
    """A thread that keeps this process's feeds running between `start` and `stop`."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._running = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="feeds", daemon=True)

    def start(self) -> None:
        """Returns when the readers run; what they load comes a moment later."""
        self._thread.start()
        self._running.wait()

    def stop(self) -> None:
        """Ends the readers; stopping one that was never started does no harm."""
        if self._loop is None or self._stopping is None:
            return
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(STOP_WITHIN_S)

    async def _run(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        async with running_feeds():
            self._running.set()
            await self._stopping.wait()
