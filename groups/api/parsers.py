"""Bodies of requests: JSON, bounded in size and depth.

Rules: what is no JSON, holds half a surrogate pair or nests beyond reason is told so with 400; what is too large with 413.
"""

from __future__ import annotations

import msgspec
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from groups.problems import TOO_LARGE, Problem

BODY_LIMIT = 5 * 2**20
"""Bytes of a body: a CSV of some 100,000 offsets."""


def too_large() -> Problem:
    """The answer to a body that is larger."""
    return Problem(kind=TOO_LARGE, resource="request", message=f"The body has more than {BODY_LIMIT} bytes.")


class StrictJsonParser(BaseParser):
    """JSON as RFC 8259 has it: UTF-8, no NaN."""

    media_type = "application/json"

    def parse(self, stream, media_type=None, parser_context=None):
        body = stream.read(BODY_LIMIT + 1)
        if len(body) > BODY_LIMIT:
            raise too_large()
        if not body.strip():
            return {}
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, RecursionError) as problem:
            raise ParseError(f"The body is not JSON: {problem}") from problem
