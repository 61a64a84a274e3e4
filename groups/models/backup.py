"""The offsets that a reset or a deletion took away, kept for undo.

Rules: work that is done in several writes keeps what it takes away in one row, so that one undo puts all of it back.
"""

from __future__ import annotations

from django.db import models

from groups.fields import DIGEST_LENGTH, IdField, JsonTextField, id_digest


class OffsetBackupQuerySet(models.QuerySet):
    """Rows of one group are found by its digest: ids may be longer than an index takes."""

    def of_group(self, cluster: str, group_id: str) -> OffsetBackupQuerySet:
        return self.filter(cluster=cluster, group_digest=id_digest(group_id))


class OffsetBackup(models.Model):
    """Offsets as they were before one write, for the partitions that the write touched.

    `offsets` maps "topic/partition" to [offset, leader epoch, metadata], or to null where nothing was committed. A row
    whose write failed is `void`; one that was put back has a time in `used_at`; neither can be used (again).
    """

    cluster = models.CharField(max_length=64)
    group_id = IdField()
    group_digest = models.CharField(max_length=DIGEST_LENGTH)
    taken_at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.CharField(max_length=400)
    action = models.CharField(max_length=40)
    offsets = JsonTextField()
    void = models.BooleanField(default=False)
    used_at = models.DateTimeField(null=True)

    objects = OffsetBackupQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = (models.Index(fields=["cluster", "group_digest", "-id"]),)

    def __str__(self) -> str:
        return f"{self.cluster}/{self.group_id} before {self.action} at {self.taken_at}"


class BackupOfWork(models.Model):
    """Which backup the writes of one piece of work share; `work` is an id that the work itself chose."""

    work = models.UUIDField(primary_key=True)
    backup = models.ForeignKey(OffsetBackup, on_delete=models.CASCADE)

    def __str__(self) -> str:
        return f"{self.work}: {self.backup_id}"
