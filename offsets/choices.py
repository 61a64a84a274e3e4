"""The words of resets: strategies, and where a plan stands."""

from __future__ import annotations

from django.db import models


class Strategy(models.TextChoices):
    """Where a reset takes the offsets."""

    EARLIEST = "earliest", "The log's start"
    LATEST = "latest", "The log's end"
    OFFSET = "offset", "One offset"
    TIMESTAMP = "timestamp", "A moment"
    DURATION = "duration", "So long ago"
    SHIFT = "shift", "By so many records"
    CURRENT = "current", "Where they are"
    CSV = "csv", "Lines of topic, partition, offset"
    GROUP = "group", "Where another group is"


class PlanStatus(models.TextChoices):
    """Where a plan stands. Only `planned` can be applied or armed; `applying` that stays means that a process died."""

    PLANNED = "planned", "Planned"
    ARMED = "armed", "Armed"
    APPLYING = "applying", "Being applied"
    APPLIED = "applied", "Applied"
    FAILED = "failed", "Failed"
    DROPPED = "dropped", "Dropped"
    EXPIRED = "expired", "Expired"
    CANCELLED = "cancelled", "Cancelled"


class WriteOutcome(models.TextChoices):
    """How a write on several partitions ended."""

    APPLIED = "applied", "Applied"
    PARTLY = "partly", "Partly applied"
    NOTHING = "nothing", "Nothing was to be done"
