"""The broker of ours that clients are tried on, and where their programs are kept."""

from tests.support.broker import ROOT, BrokerProcess

CACHE = ROOT / ".cache" / "clients"


def our_broker(folder):
    """Not started yet. KIP-848 sessions, where they are served, are short enough to wait for."""
    return BrokerProcess(folder)
