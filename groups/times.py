"""Times as the API shows them, and numbers that JavaScript would round.

Job: milliseconds since 1970 (the feed's times) to ISO 8601 with its zone, and twins of large numbers.
Must not know: rows.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

SAFE_INTEGER = 2**53
"""Above this a JSON reader that keeps numbers as doubles loses digits."""

_LATEST_MS = 253_402_300_799_999  # the last moment of the year 9999, where datetime ends


def now_ms() -> int:
    """The present time in milliseconds since 1970."""
    return int(time.time() * 1_000)


def moment(at_ms: int) -> datetime:
    """A feed time as an aware datetime in UTC; one beyond what datetime can hold becomes its end."""
    bounded = min(max(at_ms, 0), _LATEST_MS)
    return datetime.fromtimestamp(bounded / 1_000, UTC)


def milliseconds(at: datetime) -> int:
    """An aware datetime as a feed time."""
    return int(at.timestamp() * 1_000)


def iso(at_ms: int | None) -> str | None:
    """A feed time as ISO 8601 with milliseconds and zone, null for none."""
    return None if at_ms is None else moment(at_ms).isoformat(timespec="milliseconds")


def with_twins(row: dict[str, Any]) -> dict[str, Any]:
    """The row, and a text `<name>_str` beside each number that a double cannot hold."""
    twins = {
        f"{name}_str": str(value) for name, value in row.items() if type(value) is int and abs(value) > SAFE_INTEGER
    }
    return {**row, **twins} if twins else row
