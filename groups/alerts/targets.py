"""Webhooks as targets of HTTP: which addresses are allowed, and one POST with a signature.

Job: refuse targets inside the console's own network; send JSON to the others.
Rules:
- A name is resolved once and the connection goes to an address that was checked, so that a name that changes its mind between
  the check and the call leads nowhere. Loopback, private, link-local and other addresses that are not public are refused,
  unless KAAS_WEBHOOK_PRIVATE allows them.
- Redirections are not followed, answers are not read but for their status.
- `X-Kaas-Signature: t=<seconds>,v1=<hex>` is the HMAC-SHA256 of `<seconds>.<body>` under the webhook's secret: a receiver
  that checks both is safe against forgery and against old messages that are played again.
Must not know: the database, when to try again.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import json
import socket
import ssl
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

TIMEOUT_S = 5.0
PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of a try: an HTTP status, or why there is none. `final`: trying again cannot help."""

    status: int | None = None
    error: str = ""
    final: bool = False

    @property
    def is_taken(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


class RefusedTarget(Exception):
    """An address that webhooks may not have; the message says why."""


def signature(secret: str, body: bytes, at_s: int) -> str:
    """The value of X-Kaas-Signature."""
    digest = hmac.new(secret.encode(), f"{at_s}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at_s},v1={digest}"


def target_check(url: str) -> None:
    """Refuses what is no address of a webhook, as far as it can be told without asking a name server.

    Raises RefusedTarget.
    """
    parts = _parts(url)
    try:
        address = ipaddress.ip_address(parts.hostname or "")
    except ValueError:
        return
    _require_public(str(address))


def post(url: str, secret: str, delivery_id: str, body: dict[str, Any]) -> Answer:
    """Sends one message. Whatever goes wrong is in the answer."""
    data = json.dumps({**body, "delivery_id": delivery_id}).encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "kaasadmin",
        "X-Kaas-Delivery": delivery_id,
        "X-Kaas-Signature": signature(secret, data, int(time.time())),
    }
    try:
        parts = _parts(url)
        connection = _connection(parts, _address(parts))
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request("POST", path, body=data, headers=headers)
            status = connection.getresponse().status
        finally:
            connection.close()
    except RefusedTarget as refused:
        return Answer(error=str(refused), final=True)
    except (OSError, http.client.HTTPException, ValueError) as problem:
        return Answer(error=f"{type(problem).__name__}: {problem}")
    return Answer(status=status, error="" if 200 <= status < 300 else f"It answered {status}.")


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as problem:
        raise RefusedTarget(f"This is no address: {problem}.") from problem
    if parts.scheme not in PORTS or not parts.hostname or port == 0:
        raise RefusedTarget("A webhook has an address such as https://example.org/alerts.")
    if parts.username is not None or parts.password is not None:
        raise RefusedTarget("An address with a name or a password in it would be shown to everybody who sees it.")
    return parts


def _address(parts: SplitResult) -> str:
    """The address that a target's name has now; every one it has must be allowed."""
    rows = socket.getaddrinfo(parts.hostname, parts.port or PORTS[parts.scheme], type=socket.SOCK_STREAM)
    addresses = [str(row[4][0]) for row in rows]
    for address in addresses:
        _require_public(address)
    return addresses[0]


def _require_public(address: str) -> None:
    if settings.KAAS_WEBHOOK_PRIVATE:
        return
    found = ipaddress.ip_address(address.partition("%")[0])
    # What an IPv6 address stands for counts as well: ::ffff:127.0.0.1 is this machine.
    meant = [found, getattr(found, "ipv4_mapped", None), getattr(found, "sixtofour", None)]
    if any(one is not None and (not one.is_global or one.is_multicast) for one in meant):
        message = f"{address} is an address inside of a network: webhooks go there only with KAAS_WEBHOOK_PRIVATE=1."
        raise RefusedTarget(message)


def _connection(parts: SplitResult, address: str) -> http.client.HTTPConnection:
    """A connection that goes to a checked address, and names the host that was asked for."""
    host, port = str(parts.hostname), parts.port or PORTS[parts.scheme]
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    plain = socket.create_connection((address, port), TIMEOUT_S)
    if parts.scheme == "https":
        try:
            plain = ssl.create_default_context().wrap_socket(plain, server_hostname=host)
        except OSError:
            plain.close()
            raise
    connection.sock = plain
    return connection
