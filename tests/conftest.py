"""What every test run does: own the brokers that its processes share, and show the logs of brokers when a test fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support import apache, broker, runs
from tests.support.broker import BrokerProcess

SHOWN_CHARACTERS = 20_000
OWNS_RUN = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[OWNS_RUN] = runs.begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    if config.stash.get(OWNS_RUN, False):
        apache.stop_shared(runs.run_folder())
        runs.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """A failure carries what the brokers said that were running."""
    report = yield
    if report.failed:
        for one in broker.running:
            report.sections.append((f"log of the broker in {one.data}", one.log[-SHOWN_CHARACTERS:]))
    return report


@pytest.fixture
def start_broker(tmp_path: Path) -> Iterator[Callable[..., BrokerProcess]]:
    """Starts a broker of the test's own; takes what BrokerProcess takes, save the folder. Ends with the test."""
    started: list[BrokerProcess] = []

    def start(settings: Mapping[str, object] | None = None, **options: Any) -> BrokerProcess:
        started.append(BrokerProcess(tmp_path / f"broker-{len(started)}", settings, **options))
        return started[-1].start()

    yield start
    for one in started:
        one.close()
