"""The ASGI application: HTTP to Django, sockets to Channels, and the feed readers for as long as the server lives.

Job: wiring for `uvicorn kaasadmin.asgi:application --lifespan on`.
Rules: the base path is taken off here for sockets, as Django does for HTTP; what a socket logs carries an id of its own.
Must not know: what is served.
"""

from __future__ import annotations

import os
from contextlib import AsyncExitStack

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kaasadmin.settings")
django_application = get_asgi_application()  # before the imports below: they need the apps

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402

from groups.feeds import running_feeds  # noqa: E402
from groups.routing import websocket_urlpatterns  # noqa: E402
from kaasadmin.body_limit import BodyLimit  # noqa: E402
from kaasadmin.forwarded import Forwarded  # noqa: E402
from kaasadmin.logs import REQUEST_ID, bind_request_id  # noqa: E402

NOT_FOUND = 4404


class Lifespan:
    """Starts the feed readers with the server and ends them with it."""

    async def __call__(self, scope, receive, send) -> None:
        async with AsyncExitStack() as running:
            while True:
                message = await receive()
                if message["type"] == "lifespan.startup":
                    await running.enter_async_context(running_feeds())
                    await send({"type": "lifespan.startup.complete"})
                elif message["type"] == "lifespan.shutdown":
                    break
        await send({"type": "lifespan.shutdown.complete"})


class SocketRouter:
    """Routes sockets below the base path; an address that is none is refused instead of failing."""

    def __init__(self) -> None:
        self._routes = AuthMiddlewareStack(URLRouter(websocket_urlpatterns))

    async def __call__(self, scope, receive, send) -> None:
        path = scope["path"].removeprefix(settings.FORCE_SCRIPT_NAME or "")
        bind_request_id(dict(scope["headers"]).get(REQUEST_ID.lower().encode(), b"").decode("latin-1"))
        if not any(route.pattern.match(path.lstrip("/")) for route in websocket_urlpatterns):
            await receive()
            await send({"type": "websocket.close", "code": NOT_FOUND})
            return
        await self._routes({**scope, "path": path, "root_path": ""}, receive, send)


application = Forwarded(
    ProtocolTypeRouter({"http": BodyLimit(django_application), "websocket": SocketRouter(), "lifespan": Lifespan()}),
    trusted=settings.KAAS_TRUSTED_PROXIES,
    base_path=settings.FORCE_SCRIPT_NAME or "",
)
