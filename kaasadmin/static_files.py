"""Scripts, styles and pictures, served by WhiteNoise on the event loop.

Job: WhiteNoise's middleware for an async stack.
Rules: a file is read in a thread, a piece at a time. WhiteNoise itself hands Django an iterator that is not async; Django
would read that whole, with a warning, and would take every request through a thread on its way.
Must not know: which files there are.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, BinaryIO

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware

PIECE_BYTES = 64 * 1024


class StaticFilesMiddleware(WhiteNoiseMiddleware):
    """As WhiteNoise's own, for sync and async stacks alike."""

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Any) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        return self._answered(request) if iscoroutinefunction(self) else super().__call__(request)

    async def _answered(self, request: HttpRequest) -> HttpResponseBase:
        find = self.find_file if self.autorefresh else self.files.get
        static_file = find(request.path_info)
        if static_file is None:
            return await self.get_response(request)
        found = static_file.get_response(request.method, request.META)
        response = StreamingHttpResponse(_pieces(found.file), status=int(found.status))
        del response["Content-Type"]  # Django's guess
        for name, value in found.headers:
            response[name] = value
        return response


async def _pieces(file: BinaryIO | None) -> AsyncIterator[bytes]:
    if file is None:
        return
    try:
        while piece := await asyncio.to_thread(file.read, PIECE_BYTES):
            yield piece
    finally:
        file.close()
