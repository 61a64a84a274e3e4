"""Where apps above this one hook in, since this one may not know them.

Job: the signal that a group lost its last member, and facts that others put beside a group's description.
Rules: a receiver runs on the event loop and must be short; a fact is asked with (cluster, group id) and may use the
database.
Must not know: who hooks in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.dispatch import Signal

group_emptied = Signal()
"""Sent with `cluster` and `group_id` when the feed tells that a group became Empty."""

described_beside: dict[str, Callable[[str, str], Any]] = {}
"""Name of a fact in a group's description to the question that answers it."""
