"""Who may do what: role bindings of users and Django groups, tokens for scripts, users of an OpenID provider.

Rules: a token is stored as a digest only; patterns are shell patterns, `*` stands for everything.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models

from groups.choices import Role

PATTERN_LENGTH = 500


class RoleBinding(models.Model):
    """A role for one user, or for each member of one Django group, on the clusters and groups that match."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="role_bindings"
    )
    group = models.ForeignKey(Group, on_delete=models.CASCADE, null=True, blank=True, related_name="role_bindings")
    role = models.CharField(max_length=10, choices=Role.choices)
    cluster_pattern = models.CharField(max_length=PATTERN_LENGTH, default="*")
    group_pattern = models.CharField(max_length=PATTERN_LENGTH, default="*")

    class Meta:
        constraints = (
            models.CheckConstraint(
                name="role_binding_is_for_a_user_or_a_group",
                condition=models.Q(user__isnull=False, group__isnull=True)
                | models.Q(user__isnull=True, group__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.user or self.group}: {self.role} on {self.cluster_pattern}/{self.group_pattern}"


class Token(models.Model):
    """A personal token: it never allows more than its owner may, nor more than its own role and patterns.

    `last_used_at` is right to a minute: a script that asks often need not write as often.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="tokens")
    name = models.CharField(max_length=200)
    digest = models.CharField(max_length=64, unique=True)
    role = models.CharField(max_length=10, choices=Role.choices)
    cluster_pattern = models.CharField(max_length=PATTERN_LENGTH, default="*")
    group_pattern = models.CharField(max_length=PATTERN_LENGTH, default="*")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.name} of {self.owner}"


class Identity(models.Model):
    """A user as an OpenID provider knows it: a provider's subject is one user for ever, whatever its name becomes."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identities")
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)

    class Meta:
        verbose_name_plural = "identities"
        constraints = (models.UniqueConstraint(fields=["issuer", "subject"], name="identity_is_one_user"),)

    def __str__(self) -> str:
        return f"{self.user}: {self.subject} at {self.issuer}"
