"""The brokers that conformance tests run against.

`KAAS_PEERS` names them, separated by commas: `ours` (the default), `apache` (a real Apache Kafka broker, started here), or the
address of any broker that is there already. A broker lives as long as the test run and serves all tests that want its settings.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from tests.support import apache
from tests.support.broker import BrokerProcess

OURS, APACHE = "ours", "apache"
AS_APACHE = {"kaas.rebalance.on.partition.growth": False}
"""Settings that take our broker's deliberate differences back, for comparisons."""


def names() -> list[str]:
    """The peers of this run."""
    return [name.strip() for name in os.environ.get("KAAS_PEERS", OURS).split(",")]


def label(settings: Mapping[str, object]) -> str:
    """A short name for a set of settings."""
    text = repr(sorted(settings.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


class Peers:
    """Starts brokers when they are asked for. `folder` is this process's own, `run_folder` belongs to the whole test run."""

    def __init__(self, folder: Path, run_folder: Path) -> None:
        self._folder = folder
        self._run_folder = run_folder
        self._ours: dict[str, BrokerProcess] = {}

    def address(self, name: str, settings: Mapping[str, object]) -> str:
        """host:port of a peer that has these settings."""
        key = label(settings)
        if name == APACHE:
            return apache.shared(self._run_folder, f"apache-{key}", settings)
        if name != OURS:
            return name
        if key not in self._ours:
            self._ours[key] = BrokerProcess(self._folder / f"ours-{key}", {**AS_APACHE, **settings}).start()
        return self._ours[key].address

    def stop(self) -> None:
        """End the brokers that are this process's own."""
        for broker in self._ours.values():
            broker.stop()
