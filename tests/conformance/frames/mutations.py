"""Requests as no client should send them: proper ones of every API and version, then damaged in one of many ways.

The dice decide everything, so a seed names a sequence.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass

from kaas.wire.apis import APIS
from kaas.wire.encode import encode_request
from kaas.wire.schema import is_flexible
from tests.support.messages import plain, random_message

HUGE = (2**31 - 1, 2**31 - 2, 2**24, 2**16, -1, -2, -(2**31))
"""Lengths and counts that nobody should believe."""
LONGEST_BYTES = 50_000
Damage = Callable[[bytearray, random.Random], bytearray]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A payload, and the API and version that its head names; null if it has no whole head."""

    payload: bytes
    key: int | None
    version: int | None
    correlation_id: int | None

    @property
    def wire(self) -> bytes:
        """With its length in front."""
        return struct.pack(">i", len(self.payload)) + self.payload


def framed(payload: bytes) -> Frame:
    if len(payload) < 8:
        return Frame(payload=payload, key=None, version=None, correlation_id=None)
    key, version, correlation_id = struct.unpack_from(">hhi", payload)
    return Frame(payload=payload, key=key, version=version, correlation_id=correlation_id)


def head(key: int, version: int, correlation_id: int) -> bytes:
    tagged = b"\0" if is_flexible(key, version) else b""
    return struct.pack(">hhih", key, version, correlation_id, 4) + b"fuzz" + tagged


class Requests:
    """An endless sequence of damaged requests, of the APIs in `keys`."""

    def __init__(self, seed: int, keys: tuple[int, ...] = tuple(APIS)) -> None:
        self._dice = random.Random(seed)
        self._keys = keys
        self._count = 0

    def __iter__(self) -> Requests:
        return self

    def __next__(self) -> Frame:
        dice = self._dice
        self._count += 1
        key = dice.choice(self._keys)
        version = dice.randint(APIS[key].min_version, APIS[key].max_version)
        body = bytearray(encode_request(key, version, plain(random_message(key, version, "request", dice))))
        top = bytearray(head(key, version, self._count))
        for _ in range(dice.choice((0, 0, 1, 1, 1, 2))):
            if dice.random() < 0.1:
                top = dice.choice(DAMAGES)(top, dice)
            else:
                body = dice.choice(DAMAGES)(body, dice)
        return framed(bytes(top + body)[:LONGEST_BYTES] or b"\0")


def flip(data: bytearray, dice: random.Random) -> bytearray:
    """One bit."""
    if data:
        data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return data


def overwrite(data: bytearray, dice: random.Random) -> bytearray:
    """A few bytes of anything."""
    at = dice.randrange(len(data) + 1)
    noise = dice.randbytes(dice.choice((1, 2, 4, 8)))
    return data[:at] + noise + data[at + len(noise) :]


def cut(data: bytearray, dice: random.Random) -> bytearray:
    return data[: dice.randrange(len(data) + 1)]


def extend(data: bytearray, dice: random.Random) -> bytearray:
    return data + dice.randbytes(dice.choice((1, 3, 100, 5_000)))


def insert(data: bytearray, dice: random.Random) -> bytearray:
    at = dice.randrange(len(data) + 1)
    return data[:at] + dice.randbytes(dice.choice((1, 2, 4, 40))) + data[at:]


def remove(data: bytearray, dice: random.Random) -> bytearray:
    at = dice.randrange(len(data) + 1)
    return data[:at] + data[at + dice.choice((1, 2, 4, 40)) :]


def repeat(data: bytearray, dice: random.Random) -> bytearray:
    """A piece comes twice, or many times."""
    at = dice.randrange(len(data) + 1)
    piece = data[at : at + dice.choice((1, 4, 30))]
    return data[:at] + piece * dice.choice((2, 50)) + data[at:]


def claim(data: bytearray, dice: random.Random) -> bytearray:
    """A length or a count that is not true, as a number of 32 bits, of 16 bits, or of any length."""
    at = dice.randrange(len(data) + 1)
    number = dice.choice(HUGE)
    said = dice.choice(
        (
            struct.pack(">i", number),
            struct.pack(">h", max(-(2**15), min(number, 2**15 - 1))),
            b"\xff\xff\xff\xff\x0f",
            b"\x80\x80\x80\x80\x08",
            b"\xff" * 12,
        )
    )
    return data[:at] + said + data[at + len(said) :]


def blank(data: bytearray, dice: random.Random) -> bytearray:
    """All zeros or all ones."""
    return bytearray(dice.choice((b"\0", b"\xff")) * len(data))


def replace(data: bytearray, dice: random.Random) -> bytearray:
    """Something else altogether."""
    return bytearray(dice.randbytes(dice.choice((0, 1, 10, 200))))


DAMAGES: tuple[Damage, ...] = (
    flip,
    flip,
    flip,
    overwrite,
    cut,
    extend,
    insert,
    remove,
    repeat,
    claim,
    claim,
    blank,
    replace,
)
