"""A stream of bytes into request frames.

Job: cut what a socket gives into payloads; each frame is a 4-byte length (big-endian, signed) and that many bytes.
Rules: a length that is negative, zero or above `socket.request.max.bytes` ends the connection (`BadFrame`) before anything is
allocated for it. Bytes are copied once per frame and kept only while a frame is incomplete.
Must not know: sockets, what a payload holds.
Source: Kafka protocol guide, "Protocol Primitive Types"; the limits are those of Apache's `NetworkReceive`.
"""

from __future__ import annotations

import struct

LENGTH = struct.Struct(">i")


class BadFrame(Exception):
    """The peer does not speak Kafka, or asks for a frame that nobody may send."""


class FrameSplitter:
    """Feed it what arrives; it gives the payloads that are complete.

    `max_bytes` bounds one payload. `rest` is what came of a frame that is not complete yet, which is all the memory held.
    """

    __slots__ = ("max_bytes", "rest")

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """Payloads completed by this data, in order. Raises BadFrame."""
        if self.rest:
            self.rest += data
            if len(self.rest) < self.needed():
                return []
            data = bytes(self.rest)
            self.rest.clear()
        return self._cut(data)

    def needed(self) -> int:
        """Bytes that must be there before the frame at the head of the buffer is whole (at least its length field)."""
        if len(self.rest) < 4:
            return 4
        return 4 + self._checked(LENGTH.unpack_from(self.rest)[0])

    def _cut(self, data: bytes) -> list[bytes]:
        frames = []
        at, end = 0, len(data)
        while end - at >= 4:
            size = self._checked(LENGTH.unpack_from(data, at)[0])
            if end - at - 4 < size:
                break
            frames.append(data[at + 4 : at + 4 + size])
            at += 4 + size
        if at < end:
            self.rest += data[at:] if at else data
        return frames

    def _checked(self, size: int) -> int:
        if not 0 < size <= self.max_bytes:
            raise BadFrame(f"a frame of {size} bytes; 1 to {self.max_bytes} are taken (socket.request.max.bytes)")
        return size
