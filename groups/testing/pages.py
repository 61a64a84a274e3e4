"""Pages as a reader sees them, for tests without a browser."""

from __future__ import annotations

import html
import re

from django.http import HttpResponse


def words(response: HttpResponse) -> str:
    """A page's text, without its marks and with single spaces."""
    text = html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode()))
    return re.sub(r"\s+", " ", text)
