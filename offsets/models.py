"""Reset plans: what was asked, what it would do, and on what it rests.

Rules: a plan is changed by conditional updates of its status alone, so that it is applied once, whoever tries.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import models

from groups.fields import DIGEST_LENGTH, IdField, JsonTextField, id_digest
from offsets.choices import PlanStatus


class ResetPlanQuerySet(models.QuerySet):
    """Rows of one group are found by its digest: ids may be longer than an index takes."""

    def of_group(self, cluster: str, group_id: str) -> ResetPlanQuerySet:
        return self.filter(cluster=cluster, group_digest=id_digest(group_id))


class ResetPlan(models.Model):
    """A plan. `request` is strategy, value and scope as they came; `items` are the rows of the answer; `state` is the
    group's when it was planned. `token_id` names the token that its maker used, `message` says why it ended."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    cluster = models.CharField(max_length=64)
    group_id = IdField()
    group_digest = models.CharField(max_length=DIGEST_LENGTH)
    request = JsonTextField()
    state = models.CharField(max_length=40)
    items = JsonTextField()
    status = models.CharField(max_length=10, choices=PlanStatus.choices, default=PlanStatus.PLANNED)
    message = JsonTextField(default="")
    actor = models.CharField(max_length=400)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    token_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(db_index=True)
    armed_at = models.DateTimeField(null=True)

    objects = ResetPlanQuerySet.as_manager()

    class Meta:
        indexes = (models.Index(fields=["cluster", "group_digest"]),)
        constraints = (
            models.UniqueConstraint(
                fields=["cluster", "group_digest"],
                condition=models.Q(status=PlanStatus.ARMED),
                name="reset_plan_is_armed_once_per_group",
            ),
        )

    def __str__(self) -> str:
        return f"{self.cluster}/{self.group_id} {self.request['strategy']}: {self.status}"
