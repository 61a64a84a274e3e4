"""The broker of ours that clients are tried on, and where their programs are kept."""

from tests.support.broker import ROOT, BrokerProcess

CACHE = ROOT / ".cache" / "clients"


SETTINGS = {
    "group.consumer.session.timeout.ms": 6_000,
    "group.consumer.min.session.timeout.ms": 6_000,
    "group.consumer.heartbeat.interval.ms": 500,
    "group.consumer.min.heartbeat.interval.ms": 500,
}
"""Sessions under KIP-848 that are short enough to wait for: there the broker sets them."""


def our_broker(folder):
    """Not started yet."""
    return BrokerProcess(folder, SETTINGS)
