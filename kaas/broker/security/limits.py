"""How many connections there may be, in all and from one address.

Job: count connections by address, and say whether another one may come.
Rules: a connection that is one too many is closed at once. An address with a number of its own keeps to that one.
Must not know: sockets, settings.
Source: Apache Kafka 4.2, `max.connections`, `max.connections.per.ip`, `max.connections.per.ip.overrides`.
"""

from __future__ import annotations

import ipaddress
from collections import Counter


class Admission:
    """The connections that are open now."""

    __slots__ = ("_by_address",)

    def __init__(self) -> None:
        self._by_address: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._by_address.total()

    def refusal(self, address: str, *, most: int, per_address: int, overrides: str) -> str | None:
        """Which limit another connection from an address would pass; null if none."""
        if self._by_address.total() >= most:
            return "max.connections is reached"
        if per_address <= self._by_address[address] and not overrides:
            return "max.connections.per.ip is reached"
        if overrides and address_limits(overrides).get(address, per_address) <= self._by_address[address]:
            return "max.connections.per.ip is reached"
        return None

    def came(self, address: str) -> None:
        self._by_address[address] += 1

    def left(self, address: str) -> None:
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]


def address_limits(text: str) -> dict[str, int]:
    """`address:number,[address]:number` by address. Raises ValueError."""
    found = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        address, colon, number = part.rpartition(":")
        if not colon or not number.isdecimal():
            raise ValueError(f"{part!r} is not of the form address:number")
        found[str(ipaddress.ip_address(address.strip("[]")))] = int(number)
    return found
