"""The rebalances of each group, written from the feed's stream, and how far the stream was read.

Rules: rows and position change in one transaction, so that nothing is lost or doubled across a restart.
"""

from __future__ import annotations

from django.db import models

from groups.fields import DIGEST_LENGTH, IdField, JsonTextField, id_digest


class FeedPosition(models.Model):
    """The id of the last event of a cluster that is in the history."""

    cluster = models.CharField(max_length=64, primary_key=True)
    stream_id = models.CharField(max_length=64)

    def __str__(self) -> str:
        return f"{self.cluster} at {self.stream_id}"


class RebalanceQuerySet(models.QuerySet):
    """Rows of one group are found by its digest: ids may be longer than an index takes."""

    def of_group(self, cluster: str, group_id: str) -> RebalanceQuerySet:
        return self.filter(cluster=cluster, group_digest=id_digest(group_id))


class Rebalance(models.Model):
    """A rebalance that ended. `number` counts per group from 1; `record` is the feed's RebalanceRecord as it came."""

    cluster = models.CharField(max_length=64)
    group_id = IdField()
    group_digest = models.CharField(max_length=DIGEST_LENGTH)
    number = models.PositiveIntegerField()
    stream_id = models.CharField(max_length=64)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(db_index=True)
    cause = models.CharField(max_length=40)
    record = JsonTextField()

    objects = RebalanceQuerySet.as_manager()

    class Meta:
        ordering = ("-number",)
        constraints = (
            models.UniqueConstraint(
                fields=["cluster", "group_digest", "number"], name="rebalance_is_numbered_once_per_group"
            ),
            models.UniqueConstraint(fields=["cluster", "stream_id"], name="rebalance_is_one_per_stream_entry"),
        )

    def __str__(self) -> str:
        return f"{self.cluster}/{self.group_id} #{self.number}: {self.cause}"
