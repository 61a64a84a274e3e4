"""Lag over time: what groups had committed and where logs ended, at regular moments, thinned out as it grows old.

Rules: times are milliseconds since 1970, as in the feed, because they are only compared and subtracted. A row holds up to
sixty samples of one group or topic, and it is written only while something changes: what stands still costs nothing. Rows go
when `kept_until` is over.
"""

from __future__ import annotations

from django.db import models

from groups.fields import DIGEST_LENGTH


class LagClock(models.Model):
    """When a cluster was sampled last. Whoever moves it takes the sample, so that of two workers one does."""

    cluster = models.CharField(max_length=64, primary_key=True)
    ticked_at = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.cluster} at {self.ticked_at}"


class LagTick(models.Model):
    """A moment at which every group of a cluster was looked at. Between two of them nothing is known.

    `step_ms` is the coarsest step that this tick belongs to; it belongs to every finer one as well.
    """

    cluster = models.CharField(max_length=64)
    at = models.BigIntegerField()
    step_ms = models.BigIntegerField()
    kept_until = models.BigIntegerField(db_index=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["cluster", "at"], name="lag_tick_is_one_per_moment"),)

    def __str__(self) -> str:
        return f"{self.cluster} at {self.at}"


class LagChunk(models.Model):
    """Samples of one group or topic at one step, from `begins_at` on; groups.lag.samples packs them.

    A group is sampled by its committed offsets, a topic by its logs' ends. `digest` is that of the id.
    """

    class Kind(models.TextChoices):
        GROUP = "group"
        TOPIC = "topic"

    cluster = models.CharField(max_length=64)
    kind = models.CharField(max_length=5, choices=Kind.choices)
    digest = models.CharField(max_length=DIGEST_LENGTH)
    step_ms = models.BigIntegerField()
    begins_at = models.BigIntegerField()
    last_at = models.BigIntegerField()
    kept_until = models.BigIntegerField(db_index=True)
    samples = models.BinaryField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["cluster", "kind", "digest", "step_ms", "begins_at"], name="lag_chunk_is_one_per_span"
            ),
        )
        indexes = (models.Index(fields=["cluster", "last_at"]),)

    def __str__(self) -> str:
        return f"{self.cluster} {self.kind} {self.digest} each {self.step_ms} ms from {self.begins_at}"
