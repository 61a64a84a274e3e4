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
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import structlog
from django.conf import settings
from limits import RateLimitItem, RateLimitItemPerSecond
from limits.storage import MemoryStorage, RedisStorage
from limits.strategies import FixedWindowRateLimiter
from redis.exceptions import RedisError

from groups.redis_store import redis_client

_PREFIX = "kaas:rates"

T = TypeVar("T")

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """So many times in so many seconds, for what `name` says."""

    name: str
    count: int
    window_s: int


def take(rate: Rate, *who: object) -> int | None:
    """Takes one from somebody's allowance: null when there was one, else the whole seconds until there is one again."""
    item, place = _item(rate), _place(who)

    def taken(limiter: FixedWindowRateLimiter) -> int | None:
        if limiter.hit(item, place):
            return None
        return max(1, math.ceil(limiter.get_window_stats(item, place).reset_time - time.time()))

    return _counters(settings.KAAS_REDIS_URL).counted(taken)


def forgive(rate: Rate, *who: object) -> None:
    """Gives somebody the whole allowance back."""
    item, place = _item(rate), _place(who)
    _counters(settings.KAAS_REDIS_URL).counted(lambda limiter: limiter.clear(item, place))


class _Counters:
    """The counters in one Redis server, and this process's own for as long as that is away."""

    def __init__(self) -> None:
        pool = redis_client().connection_pool
        self._shared = FixedWindowRateLimiter(RedisStorage("redis://", connection_pool=pool, key_prefix=_PREFIX))
        self._own: FixedWindowRateLimiter | None = None

    def counted(self, act: Callable[[FixedWindowRateLimiter], T]) -> T:
        try:
            answer = act(self._shared)
        except RedisError as problem:
            if self._own is None:
                _log.warning("rates_counted_alone", problem=str(problem))
                self._own = FixedWindowRateLimiter(MemoryStorage())
            return act(self._own)
        self._own = None
        return answer


@lru_cache(maxsize=4)
def _counters(url: str) -> _Counters:
    return _Counters()


def _item(rate: Rate) -> RateLimitItem:
    return RateLimitItemPerSecond(rate.count, rate.window_s, namespace=rate.name)


def _place(who: tuple[object, ...]) -> str:
    """A key of bounded length, whatever a name is made of."""
    return hashlib.sha256(repr(who).encode(errors="replace")).hexdigest()
