"""Which format an answer has.

Rules: one that an operation does not have is not acceptable (406), whether `Accept` or the address asks for it; it is no
missing page.
"""

from __future__ import annotations

from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import DefaultContentNegotiation

FORMAT = "format"
"""The parameter that chooses JSON or CSV, where there is a choice."""


class Negotiation(DefaultContentNegotiation):
    """As DRF does it, save for an unknown format in the address."""

    def filter_renderers(self, renderers, format):
        fitting = [renderer for renderer in renderers if renderer.format == format]
        if not fitting:
            raise NotAcceptable(f"There is no {FORMAT} {format!r} here.")
        return fitting
