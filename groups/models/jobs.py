"""Long work: a job, and the groups, or the partitions of one group, that it goes through.

Rules: an item is written once it is over, so a job whose worker died goes on with the first one that is not. `lease_until` says
until when one worker has the job to itself.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from groups.choices import ItemState, JobState
from groups.fields import IdField, JsonTextField

TOPIC_LENGTH = 249
"""Kafka's longest topic name."""


class Job(models.Model):
    """One kind of work on many groups of a cluster, or on many partitions of one group, in the name of whoever made it.
    `params` is what the kind needs."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    kind = models.CharField(max_length=40)
    cluster = models.CharField(max_length=64)
    params = JsonTextField()
    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.PLANNED)
    actor = models.CharField(max_length=400)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    token_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return f"{self.kind} on {self.cluster}: {self.state}"


class JobItem(models.Model):
    """One group of a job, or one partition of its group. `note` is what its kind remembers between a step and the next;
    `message` says what came of it."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="items")
    number = models.PositiveIntegerField()
    group_id = IdField()
    topic = models.CharField(max_length=TOPIC_LENGTH, blank=True, default="", db_default="")
    partition = models.PositiveIntegerField(null=True)
    state = models.CharField(max_length=7, choices=ItemState.choices, default=ItemState.WAITING)
    note = JsonTextField(default=dict)
    message = JsonTextField(default="")

    class Meta:
        ordering = ("number",)
        constraints = (models.UniqueConstraint(fields=["job", "number"], name="job_item_is_numbered_once"),)
        indexes = (models.Index(fields=["job", "state", "number"]),)

    def __str__(self) -> str:
        return f"{self.group_id}: {self.state}"
