"""Bytes without a schema: text, JSON, or hexadecimal digits.

Job: bytes to an encoding and a text.
Rules: nothing is guessed beyond UTF-8 and JSON; what is neither is shown as hexadecimal digits. JSON stays the text that it
is, so that no number loses digits.
Must not know: schemas, how much of a text is shown.
"""

from __future__ import annotations

import json

_CONTROLS = {chr(code) for code in range(32)} - {"\t", "\n", "\r"}


def plain(data: bytes) -> tuple[str, str]:
    """Bytes as (encoding, text), where the encoding is text, json or hex."""
    text = _text(data)
    if text is None:
        return "hex", data.hex()
    return ("json" if is_json(text) else "text"), text


def forced_text(data: bytes) -> tuple[str, str]:
    """Bytes as text whatever they are: what is not UTF-8 becomes U+FFFD."""
    return "text", data.decode(errors="replace")


def is_json(text: str) -> bool:
    """Whether a text is a JSON object or list: a bare number or word is rather a text."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _text(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if _CONTROLS.intersection(text) else text
