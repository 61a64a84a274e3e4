"""What was done, by whom; and what keeps a repeated request from being done twice.

Rules: an audit row is written before the write and completed after it, then never changed or deleted.
"""

from __future__ import annotations

from django.db import models

from groups.choices import Outcome
from groups.fields import DIGEST_LENGTH, IdField, JsonTextField


class AuditRow(models.Model):
    """One action. `before` and `after` are JSON: what it changed, as it was and as it is; `message` says why it failed."""

    at = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.CharField(max_length=400)
    action = models.CharField(max_length=40)
    cluster = models.CharField(max_length=64, blank=True)
    group_id = IdField(blank=True)
    group_digest = models.CharField(max_length=DIGEST_LENGTH, blank=True)
    before = JsonTextField(null=True)
    after = JsonTextField(null=True)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, default=Outcome.STARTED)
    message = JsonTextField(default="")

    class Meta:
        ordering = ("-id",)
        indexes = (models.Index(fields=["cluster", "group_digest", "-id"]),)

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.cluster}/{self.group_id}: {self.outcome}"


class IdempotentRequest(models.Model):
    """A write that came with an Idempotency-Key: its answer is given again to whoever repeats it within a day.

    `status` is null while the first one still runs.
    """

    actor = models.CharField(max_length=400)
    key_digest = models.CharField(max_length=DIGEST_LENGTH)
    request_digest = models.CharField(max_length=DIGEST_LENGTH)
    status = models.PositiveSmallIntegerField(null=True)
    answer = JsonTextField(null=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["actor", "key_digest"], name="idempotent_request_is_one_per_actor_and_key"),
        )

    def __str__(self) -> str:
        return f"{self.actor} {self.key_digest}: {self.status or 'running'}"
