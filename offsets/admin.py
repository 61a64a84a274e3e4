"""Django's own admin pages: plans may be read."""

from __future__ import annotations

from django.contrib import admin

from groups.admin import ReadOnlyAdmin
from offsets.models import ResetPlan


@admin.register(ResetPlan)
class ResetPlanAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "cluster", "group_id", "status", "actor", "expires_at")
    list_filter = ("status",)
