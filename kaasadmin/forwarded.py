"""What a proxy in front of the console says of a request, taken over before anybody looks at it.

Job: the client's address, scheme and host as a trusted proxy forwards them, and the base path put back where a proxy
takes it off.
Rules: only an address in KAAS_TRUSTED_PROXIES is believed: whoever else sends these headers would choose its own address
and host. Behind this every request looks alike, whether its proxy strips the base path or not, and so do sockets.
Must not know: what is served.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address, ip_network
from typing import Any

from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

FORWARDED_HOST = b"x-forwarded-host"

Scope = dict[str, Any]


class Forwarded:
    """Wraps an ASGI application. `trusted` are addresses and networks; `base_path` is "" or begins with a slash.

    Raises ValueError for what is neither address nor network.
    """

    def __init__(self, application: Any, *, trusted: Iterable[str], base_path: str) -> None:
        self._networks = [ip_network(one) for one in trusted]
        self._base_path = base_path
        self._application = ProxyHeadersMiddleware(application, trusted_hosts=[str(one) for one in self._networks])

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] in ("http", "websocket"):
            scope = {**scope, **self._address(scope), "headers": self._headers(scope)}
        await self._application(scope, receive, send)

    def _address(self, scope: Scope) -> Scope:
        path, base = scope["path"], self._base_path
        if not base or path == base or path.startswith(f"{base}/"):
            return {}
        return {"path": base + path, "raw_path": base.encode() + scope.get("raw_path", path.encode())}

    def _headers(self, scope: Scope) -> list[tuple[bytes, bytes]]:
        headers = list(scope["headers"])
        hosts = [value for name, value in headers if name == FORWARDED_HOST]
        if not hosts or not self._is_trusted(scope.get("client")):
            return headers
        host = hosts[-1].split(b",")[0].strip()
        return [(name, value) for name, value in headers if name != b"host"] + [(b"host", host)]

    def _is_trusted(self, client: tuple[str, int] | None) -> bool:
        try:
            address = ip_address(client[0]) if client else None
        except ValueError:
            return False  # a name, as in tests: no proxy of ours
        return address is not None and any(address in network for network in self._networks)
