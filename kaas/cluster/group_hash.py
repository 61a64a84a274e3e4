"""Which broker a group belongs to when nothing else says so.

Rules: FNV-1a, 32 bit, of the UTF-8 id; the slot is the hash modulo the number of **all** registered brokers, alive or not, in
the order of their numeric ids, so that a broker that is down moves only its own groups. When the slot's broker is not alive the
same slot is taken modulo the living ones. Every component asks this function; two that disagree would send a client in circles.
Source: DESIGN of the cluster in docs/ARCHITECTURE.md; FNV by Fowler, Noll, Vo (http://www.isthe.com/chongo/tech/comp/fnv/).
"""

from __future__ import annotations

from collections.abc import Iterable

BASIS = 0x811C9DC5
PRIME = 0x01000193
MASK = 0xFFFFFFFF


def fnv1a(text: str) -> int:
    """The 32-bit hash."""
    value = BASIS
    for byte in text.encode("utf-8", "surrogatepass"):
        value = ((value ^ byte) * PRIME) & MASK
    return value


def broker_for(key: str, registered: Iterable[int], alive: Iterable[int]) -> int | None:
    """The broker of a group id or transactional id; null when nobody is alive."""
    brokers = sorted(registered)
    living = sorted(set(alive) & set(brokers))
    if not living:
        return None
    slot = fnv1a(key) % len(brokers)
    preferred = brokers[slot]
    return preferred if preferred in living else living[slot % len(living)]
