"""Where the broker listens, and the addresses that it tells clients.

Job: Kafka's `listeners` and `advertised.listeners`, or one listener from --host and --port.
Rules: every listener has a name of its own; a client is told the address of the listener that it came in on. A listener that
others than this machine can reach without authentication is said aloud at the start.
Errors: BadSetting, which names the text and what is taken.
Source: Apache Kafka broker configuration, KIP-103.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from kaas.broker.settings import BadSetting, Settings
from kaas.cluster.assignment import Listener

DEFAULT_NAME = "PLAINTEXT"


def parse(text: str, setting: str) -> list[Listener]:
    """`NAME://host:port,NAME://host:port`. Raises BadSetting."""
    found: list[Listener] = []
    for part in filter(None, (p.strip() for p in text.split(","))):
        split = urlsplit(part)
        try:
            port = split.port
        except ValueError:
            port = None
        if not split.scheme or port is None:
            raise BadSetting(f"{setting}: {part!r} is not of the form NAME://host:port")
        name = part.split("://", 1)[0].upper()
        if any(name == other.name for other in found):
            raise BadSetting(f"{setting}: {name} is named twice")
        found.append(Listener(name=name, host=split.hostname or "", port=port))
    return found


def bound(settings: Settings, host: str, port: int) -> list[Listener]:
    """Where to listen. Raises BadSetting."""
    return parse(settings["listeners"], "listeners") or [Listener(name=DEFAULT_NAME, host=host, port=port)]


def advertised(settings: Settings, listening: list[Listener]) -> list[Listener]:
    """What clients are told, one per listener: the advertised address, else where it listens. Raises BadSetting."""
    told = {one.name: one for one in parse(settings["advertised.listeners"], "advertised.listeners")}
    if strange := told.keys() - {one.name for one in listening}:
        raise BadSetting(f"advertised.listeners: {', '.join(sorted(strange))} is not among listeners")
    return [told.get(one.name, one) for one in listening]


def is_reachable_by_others(listener: Listener) -> bool:
    """Whether more than this machine can reach it."""
    if listener.host == "localhost":
        return False
    try:
        return not ipaddress.ip_address(listener.host).is_loopback
    except ValueError:
        return True
