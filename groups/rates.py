"""How often somebody may do something: counters that every process of the console shares.

Job: take one from an allowance, and say how long to wait when it is spent.
Rules: counted in the feed's Redis, each count in one step there, so that several processes agree. While Redis is away
every process counts by itself: nobody is locked out by a server that is down, and nobody gets in without being counted.
Must not know: what is allowed, whom it answers.
"""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import dataclass
from functools import lru_cache

import structlog
from django.conf import settings
from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import FixedWindowRateLimiter
from redis.exceptions import RedisError

from groups.redis_store import redis_client

_PREFIX = "kaas:rates"

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """So many times in so many seconds, for what `name` says."""

    name: str
    count: int
    window_s: int


def take(rate: Rate, *who: object) -> int | None:
    """Takes one from somebody's allowance: null when there was one, else the whole seconds until there is one again."""
    item, place = RateLimitItemPerSecond(rate.count, rate.window_s, namespace=rate.name), _place(who)
    try:
        return _taken(_shared(settings.KAAS_REDIS_URL), item, place)
    except RedisError as problem:
        _log.warning("rates_counted_alone", problem=str(problem))
        return _taken(_alone(), item, place)


def forgive(rate: Rate, *who: object) -> None:
    """Gives somebody the whole allowance back."""
    item, place = RateLimitItemPerSecond(rate.count, rate.window_s, namespace=rate.name), _place(who)
    _alone().clear(item, place)
    try:
        _shared(settings.KAAS_REDIS_URL).clear(item, place)
    except RedisError as problem:
        _log.warning("rates_counted_alone", problem=str(problem))


def _taken(limiter: FixedWindowRateLimiter, item: RateLimitItemPerSecond, place: str) -> int | None:
    if limiter.hit(item, place):
        return None
    return max(1, math.ceil(limiter.get_window_stats(item, place).reset_time - time.time()))


def _place(who: tuple[object, ...]) -> str:
    """A key of bounded length, whatever a name is made of."""
    return hashlib.sha256(repr(who).encode(errors="replace")).hexdigest()


@lru_cache(maxsize=4)
def _shared(url: str) -> FixedWindowRateLimiter:
    pool = redis_client().connection_pool
    return FixedWindowRateLimiter(RedisStorage("redis://", connection_pool=pool, key_prefix=_PREFIX))


@lru_cache(maxsize=1)
def _alone() -> FixedWindowRateLimiter:
    return FixedWindowRateLimiter(MemoryStorage())
