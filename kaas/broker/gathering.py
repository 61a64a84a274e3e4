"""Several answers that make one: each part comes when it is ready, the whole goes out when the last one is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

Key = TypeVar("Key")
Part = TypeVar("Part")


class Gathering(Generic[Key, Part]):
    """`whole` is called once, with the parts in the order of `keys`; at once when there are none to wait for."""

    __slots__ = ("_keys", "_parts", "_whole")

    def __init__(self, keys: Iterable[Key], whole: Callable[[dict[Key, Part]], None]) -> None:
        self._keys = list(keys)
        self._parts: dict[Key, Part] = {}
        self._whole = whole
        if not self._keys:
            whole({})

    def put(self, key: Key, part: Part) -> None:
        """One part."""
        self._parts[key] = part
        if len(self._parts) == len(self._keys):
            self._whole({key: self._parts[key] for key in self._keys})
