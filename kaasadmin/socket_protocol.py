"""Sockets under uvicorn, with messages that many of them are sent alike.

Job: uvicorn's own protocol, and the ASGI extension groups.frames.ALIKE beside it: bytes that are framed (and compressed)
once go to each socket with one write, instead of being made anew for it message by message.
Rules: compression keeps no context from one message to the next, else no two sockets could be sent the same bytes; that also
saves each socket the memory of its context. A client whose window is smaller than ours gets its messages one by one.
Must not know: what is sent.
Source: RFC 7692 7.1.1.1 (a server may ask for no context takeover unasked) and 7.1.2.1; `--ws` takes the name of a class.
"""

from __future__ import annotations

import logging
from typing import Any

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.extensions.permessage_deflate import ServerPerMessageDeflateFactory
from websockets.protocol import State
from websockets.server import ServerProtocol

from groups.frames import ALIKE, COMPRESSION, WINDOW_BITS, Frames


class SharingProtocol(WebSocketsSansIOProtocol):
    """One connection."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        factory = ServerPerMessageDeflateFactory(
            server_no_context_takeover=True,
            client_no_context_takeover=True,
            server_max_window_bits=WINDOW_BITS,
            client_max_window_bits=WINDOW_BITS,
            compress_settings=COMPRESSION,
        )
        self.conn = ServerProtocol(
            extensions=[factory] if self.config.ws_per_message_deflate else [],
            max_size=self.config.ws_max_size,
            logger=logging.getLogger("uvicorn.error"),
        )

    async def run_asgi(self) -> None:
        self.scope["extensions"][ALIKE] = {}
        await super().run_asgi()

    async def send(self, message: Any) -> None:
        if message["type"] == ALIKE:
            await self._send_alike(message["frames"])
        else:
            await super().send(message)

    async def _send_alike(self, frames: Frames) -> None:
        await self.writable.wait()
        if self.disconnected or self.conn.state is not State.OPEN:
            raise ClientDisconnected
        if not self.conn.extensions:
            self.transport.write(frames.plain())
        elif self.conn.extensions[0].local_max_window_bits >= WINDOW_BITS:
            self.transport.write(frames.deflated())
        else:
            for text in frames.texts:
                await super().send({"type": "websocket.send", "text": text})
