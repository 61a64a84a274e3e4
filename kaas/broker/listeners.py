"""Where the broker listens, how connections are protected there, and the addresses that it tells clients.

Job: Kafka's `listeners`, `advertised.listeners` and `listener.security.protocol.map`, or one listener from --host and --port.
Rules: every listener has a name of its own; a client is told the address of the listener that it came in on. While no map of
protocols is set a name that is no protocol means PLAINTEXT; once one is set it must name every listener. A listener that others
than this machine can reach, and where they need not say who they are or can be listened to, is said aloud at the start.
Errors: BadSetting, which names the text and what is taken.
Source: Apache Kafka broker configuration, KIP-103.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from kaas.broker.security.protocols import Protocol
from kaas.broker.settings import BadSetting, Settings
from kaas.broker.settings_table import list_items
from kaas.cluster.assignment import Listener

DEFAULT_NAME = "PLAINTEXT"
PROTOCOL_MAP = "listener.security.protocol.map"


def parse(text: str, setting: str) -> list[Listener]:
    """`NAME://host:port,NAME://host:port`. Raises BadSetting."""
    found: list[Listener] = []
    for part in list_items(text):
        name, mark, rest = part.partition("://")
        split = urlsplit(f"//{rest}")  # without the name, which may hold what a scheme may not
        try:
            port = split.port
        except ValueError:
            port = None
        if not name or not mark or port is None:
            raise BadSetting(f"{setting}: {part!r} is not of the form NAME://host:port")
        name = name.upper()
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


def protocols(settings: Settings) -> dict[str, Protocol]:
    """The map of protocols by listener. Raises BadSetting."""
    found = {}
    for part in list_items(settings[PROTOCOL_MAP]):
        name, colon, protocol = part.partition(":")
        if not colon or protocol.upper() not in Protocol.__members__:
            raise BadSetting(f"{PROTOCOL_MAP}: {part!r} is not of the form NAME:{'|'.join(Protocol.__members__)}")
        found[name.upper()] = Protocol[protocol.upper()]
    return found


def protocol_of(settings: Settings, name: str) -> Protocol:
    """How connections of a listener are protected. Raises BadSetting."""
    known = protocols(settings)
    if name in known:
        return known[name]
    if settings.is_default(PROTOCOL_MAP):
        return Protocol.PLAINTEXT
    raise BadSetting(f"{PROTOCOL_MAP}: there is no protocol for the listener {name}")


def is_reachable_by_others(listener: Listener) -> bool:
    """Whether more than this machine can reach it."""
    if listener.host == "localhost":
        return False
    try:
        return not ipaddress.ip_address(listener.host).is_loopback
    except ValueError:
        return True


def danger(listener: Listener, protocol: Protocol, client_auth: str, *, has_rules: bool) -> str | None:
    """What must be said aloud of a listener; null when there is nothing."""
    if not is_reachable_by_others(listener):
        return None
    if protocol is Protocol.PLAINTEXT or (protocol is Protocol.SSL and client_auth != "required"):
        may = "what rules allow to User:ANONYMOUS" if has_rules else "everything"
        return f"anybody who reaches this listener may do {may}"
    if protocol is Protocol.SASL_PLAINTEXT:
        return "everything that goes over this listener can be read on its way"
    return None
