"""Waiting for a condition with a deadline, which is what tests do instead of sleeping."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

EVERY_S = 0.02


def until(condition: Callable[[], T], within_s: float = 30.0, every_s: float = EVERY_S) -> T:
    """What the condition gives once that is true."""
    deadline = time.monotonic() + within_s
    while not (seen := condition()):
        assert time.monotonic() < deadline, f"still {seen!r} after {within_s} s"
        time.sleep(every_s)
    return seen


async def until_async(condition: Callable[[], T], within_s: float = 30.0, every_s: float = EVERY_S) -> T:
    """The same for a test that runs in an event loop."""
    deadline = time.monotonic() + within_s
    while not (seen := condition()):
        assert time.monotonic() < deadline, f"still {seen!r} after {within_s} s"
        await asyncio.sleep(every_s)
    return seen
