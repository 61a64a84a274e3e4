"""Socket messages as bytes that are made once, however many sockets they go to.

Job: a message's text, its frame on the wire, and several of them as one piece of bytes.
Rules: a server masks nothing, so that a frame is the same for every socket; compressed ones are as well, where no message
depends on the ones before it. Whether a socket takes compressed frames is its server's business: it offers ALIKE in the
scope's extensions, and is handed Frames.
Must not know: what the messages say, which server it is.
Source: RFC 6455 5.1 and 5.2, RFC 7692 7.1.1.1.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import Frame, Opcode

ALIKE = "kaas.websocket.send_alike"
"""The ASGI extension, and the type of its message, which carries `frames`: sends each of them as a message of its own."""

WINDOW_BITS = 12
COMPRESSION = {"memLevel": 5}
"""How messages are compressed: 4 kB of memory while one is made, and little less small than with more."""

_encode = msgspec.json.Encoder().encode
_deflate = [
    PerMessageDeflate(
        remote_no_context_takeover=True,
        local_no_context_takeover=True,
        remote_max_window_bits=WINDOW_BITS,
        local_max_window_bits=WINDOW_BITS,
        compress_settings=COMPRESSION,
    )
]


def encoded(message: dict[str, Any]) -> str:
    """A socket message as JSON text."""
    return _encode(message).decode()


class Frames:
    """Messages in their order. `texts` are for a server that sends one after the other."""

    __slots__ = ("_deflated", "_plain", "texts")

    def __init__(self, texts: Iterable[str]) -> None:
        self.texts = tuple(texts)
        self._plain: bytes | None = None
        self._deflated: bytes | None = None

    def plain(self) -> bytes:
        """The frames as they are."""
        if self._plain is None:
            self._plain = self._joined([])
        return self._plain

    def deflated(self) -> bytes:
        """The frames, each compressed for itself, with a window of 2^WINDOW_BITS bytes."""
        if self._deflated is None:
            self._deflated = self._joined(_deflate)
        return self._deflated

    def _joined(self, extensions: list[PerMessageDeflate]) -> bytes:
        frames = (Frame(Opcode.TEXT, text.encode()) for text in self.texts)
        return b"".join(frame.serialize(mask=False, extensions=extensions) for frame in frames)
