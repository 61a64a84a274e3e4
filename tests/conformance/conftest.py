"""Brokers for conformance tests: see tests/conformance/peers.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.peers import Peers, names
from tests.support.runs import run_folder


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for a peer runs once against each."""
    if "peer" in metafunc.fixturenames:
        metafunc.parametrize("peer", names(), indirect=True, scope="session")


@pytest.fixture(scope="session")
def peer(request: pytest.FixtureRequest) -> str:
    """The name of the peer that this test runs against."""
    return str(request.param)


@pytest.fixture(scope="session")
def peers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peers]:
    """All peers, by name and settings."""
    started = Peers(tmp_path_factory.mktemp("peers"), run_folder())
    yield started
    started.stop()


@pytest.fixture(scope="module")
def bootstrap(request: pytest.FixtureRequest, peer: str, peers: Peers) -> str:
    """The address of the peer, with the settings that the test module asks for as SETTINGS."""
    return peers.address(peer, getattr(request.module, "SETTINGS", {}))
