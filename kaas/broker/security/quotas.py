"""Quotas: how many bytes a second a client may write and read, and how many requests it may send.

Job: the file of quotas, and the buckets that they are counted in.
Rules
- A quota is for a user, for a client id, or for both; `<default>` stands for each user or client id that has none of its own.
  The most special one counts, as in Kafka; one of a user before one of a client id.
- A bucket holds what may be used at once (`quota.window.num` windows) and fills at the rate of the quota. Who takes more than
  is there waits until it is full enough again.
Must not know: connections, requests, time (it is told).
Shape: {"quotas": [{"user": "alice", "client_id": "<default>", "producer_byte_rate": 1000000, "consumer_byte_rate": 2000000,
"request_rate": 100}]}; rates are per second, what is left out is not limited.
Source: KIP-13, KIP-55 (which quota counts), KIP-124 (requests), KIP-219 (answer at once, then wait). Requests are counted
rather than timed: there is one thread for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import msgspec

from kaas.broker.security.watched import decoded

FILE_NAME = "quotas.json"
DEFAULT = "<default>"
MOST_BUCKETS = 10_000
"""Above this, buckets that are full again are forgotten: client ids are what clients make up."""


class Measure(Enum):
    """What is counted, by the name that its rate has in the file."""

    PRODUCED_BYTES = "producer_byte_rate"
    FETCHED_BYTES = "consumer_byte_rate"
    REQUESTS = "request_rate"


class Quota(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One entry of the file. Rates per second."""

    user: str | None = None
    client_id: str | None = None
    producer_byte_rate: float | None = None
    consumer_byte_rate: float | None = None
    request_rate: float | None = None


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """The file."""

    quotas: list[Quota]
    version: int = 1


def parse(data: bytes) -> tuple[Quota, ...]:
    """The quotas in a file. Raises ValueError."""
    quotas = tuple(decoded(data, Stored).quotas)
    for number, quota in enumerate(quotas, 1):
        if quota.user is None and quota.client_id is None:
            raise ValueError(f"quota {number}: it is for a user, a client_id, or both")
        for measure in Measure:
            rate = getattr(quota, measure.value)
            if rate is not None and rate <= 0:
                raise ValueError(f"quota {number}: {measure.value} is more than 0")
    return quotas


Entity = tuple[str | None, str | None]
"""A user and a client id; null: whichever."""


class Bucket:
    """What one user or client id may still use. Times are seconds on any clock."""

    __slots__ = ("_at_s", "_holds", "_level", "rate")

    def __init__(self, rate: float, window_s: float, now_s: float) -> None:
        self.rate = rate
        self._holds = self._level = rate * window_s
        self._at_s = now_s

    def take(self, amount: float, now_s: float) -> float:
        """Use some of it; how many seconds to wait then."""
        self._fill(now_s)
        self._level -= amount
        return self.wait_s(now_s)

    def wait_s(self, now_s: float) -> float:
        """How long until something is there."""
        self._fill(now_s)
        return max(-self._level / self.rate, 0.0)

    def is_full(self, now_s: float) -> bool:
        self._fill(now_s)
        return self._level >= self._holds

    def _fill(self, now_s: float) -> None:
        self._level = min(self._level + (now_s - self._at_s) * self.rate, self._holds)
        self._at_s = now_s


class Quotas:
    """The quotas that are in force; a change of them makes another one, with full buckets."""

    def __init__(self, quotas: Iterable[Quota], window_s: float) -> None:
        self._window_s = window_s
        self._rates: dict[Measure, dict[Entity, float]] = {measure: {} for measure in Measure}
        for quota in quotas:
            for measure in Measure:
                rate = getattr(quota, measure.value)
                if rate is not None:
                    self._rates[measure][quota.user, quota.client_id] = rate
        self._buckets: dict[tuple[Measure, Entity], Bucket] = {}

    def __bool__(self) -> bool:
        return any(self._rates.values())

    def bucket(self, measure: Measure, user: str, client_id: str, now_s: float) -> Bucket | None:
        """What a client uses of; null where it is not limited."""
        rates = self._rates[measure]
        if not rates:
            return None
        for entity, counted_for in _by_weight(user, client_id):
            rate = rates.get(entity)
            if rate is not None:
                return self._bucket(measure, counted_for, rate, now_s)
        return None

    def _bucket(self, measure: Measure, entity: Entity, rate: float, now_s: float) -> Bucket:
        bucket = self._buckets.get((measure, entity))
        if bucket is None:
            if len(self._buckets) >= MOST_BUCKETS:
                self._buckets = {key: one for key, one in self._buckets.items() if not one.is_full(now_s)}
            bucket = self._buckets[measure, entity] = Bucket(rate, self._window_s, now_s)
        return bucket


def _by_weight(user: str, client_id: str) -> list[tuple[Entity, Entity]]:
    """Whose quota counts, the most special one first, and for whom it is counted then."""
    both, of_user, of_client = (user, client_id), (user, None), (None, client_id)
    return [
        (both, both),
        ((user, DEFAULT), both),
        (of_user, of_user),
        ((DEFAULT, client_id), both),
        ((DEFAULT, DEFAULT), both),
        ((DEFAULT, None), of_user),
        (of_client, of_client),
        ((None, DEFAULT), of_client),
    ]
