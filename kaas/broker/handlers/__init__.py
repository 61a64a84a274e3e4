"""One file per API key: decode a request into an event, encode what comes back.

The contract of a handler module `kNN_name.py`
- `API` is its row of kaas.wire.apis; `handle(broker, request)` serves one request of it.
- The docstring says which versions are served, what each added, and what is left out; docs/PROTOCOL.md is made from it.
- `request.decode()` gives the message; `request.answer(values)` answers it, now or later, once. `values` fit every version:
  the writer takes what the version has (kaas.wire.encode). `request.answer_nothing()` and `request.refuse(reason)` are the
  other two ends. A handler neither waits nor starts a task: what takes time is given a callback.
- Anything that a handler raises ends the connection; errors that Kafka has a code for are answered with it.
- Handlers reach everything through `broker` (kaas.broker.broker): its groups, topics, cluster, settings, clock.
Must not know: each other. What several of them share stands in a module of kaas.broker, below them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from types import ModuleType

from kaas.broker.broker import Broker
from kaas.broker.request import Request
from kaas.wire.apis import Api

Handler = Callable[[Broker, Request], None]
"""handle(broker, request)."""


def _modules() -> list[ModuleType]:
    names = sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name.startswith("k"))
    return [importlib.import_module(f"{__name__}.{name}") for name in names]


MODULES: dict[int, ModuleType] = {module.API.key: module for module in _modules()}
"""Handler modules by API key."""

HANDLERS: dict[int, Handler] = {key: module.handle for key, module in MODULES.items()}
"""What serves a key."""


def served() -> list[Api]:
    """The rows that are advertised."""
    return [MODULES[key].API for key in sorted(MODULES)]
