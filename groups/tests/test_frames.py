"""groups.frames, read back by the library that clients use."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import Frame
from websockets.streams import StreamReader

from groups.frames import WINDOW_BITS, Frames, encoded


def read(data, extensions):
    """The texts of the frames in some bytes."""
    stream, texts = StreamReader(), []
    stream.feed_data(data)
    stream.feed_eof()
    while True:
        parser = Frame.parse(stream.read_exact, mask=False, extensions=extensions)
        try:
            next(parser)
        except StopIteration as done:
            texts.append(bytes(done.value.data).decode())
        except EOFError:
            return texts


@given(texts=st.lists(st.text(max_size=70_000), max_size=5))
def test_a_client_reads_the_messages_one_by_one(texts):
    frames = Frames(texts)
    client = PerMessageDeflate(True, True, WINDOW_BITS, WINDOW_BITS)
    assert frames.texts == tuple(texts)
    assert read(frames.plain(), []) == read(frames.deflated(), [client]) == texts


def test_they_are_made_once_and_only_when_somebody_asks():
    asked = []
    frames = Frames(asked.append(text) or text for text in ("one", "two" * 200))
    assert frames.plain() is frames.plain() and frames.deflated() is frames.deflated()
    assert asked == ["one", "two" * 200]
    assert len(frames.deflated()) < len(frames.plain())


def test_messages_are_json():
    assert json.loads(encoded({"type": "ping", "at": "é"})) == {"type": "ping", "at": "é"}
