"""Where a message's schema stands: API key and version to kio's class and its native reader.

Job: find and cache the classes, readers and flexible versions that kio generated from Kafka's own message definitions.
Rules: modules are imported when first asked for, because all of them together take seconds and megabytes. A version that
kio does not know is a `LookupError` at start, when the table of APIs is built, never on a request.
Must not know: which versions are served (kaas.wire.apis), what a message means.
Source: kio 0.6, generated from Apache Kafka 4.x `clients/src/main/resources/common/message`.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from kio.schema.index import api_key_map
from kio.serial import entity_reader

Reader = Callable[[Any, int], tuple[Any, int]]
"""(buffer, offset) to (message, bytes read)."""


def camel(name: str) -> str:
    """`join_group` to `JoinGroup`."""
    return "".join(word.capitalize() for word in name.split("_"))


@functools.cache
def message_class(key: int, version: int, kind: str) -> type[Any]:
    """kio's class of a message; `kind` is `request` or `response`. Raises LookupError when kio has no such version."""
    try:
        name = api_key_map[key]
        module = importlib.import_module(f"kio.schema.{name}.v{version}.{kind}")
    except (KeyError, ModuleNotFoundError):
        raise LookupError(f"kio has no {kind} of API {key} in version {version}") from None
    cls: type[Any] = getattr(module, camel(name) + kind.capitalize())
    return cls


@functools.cache
def reader(key: int, version: int, kind: str) -> Reader:
    """The native reader of a message."""
    read: Reader = entity_reader(message_class(key, version, kind))
    return read


@functools.cache
def is_flexible(key: int, version: int) -> bool:
    """Whether this version has compact fields and tag sections (KIP-482); its request header then has a tag section too."""
    return bool(message_class(key, version, "request").__flexible__)
