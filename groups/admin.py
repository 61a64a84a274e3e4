"""Django's own admin pages: rights and tokens may be edited, what happened may only be read."""

from __future__ import annotations

from django.contrib import admin

from groups.models import AuditRow, Identity, OffsetBackup, Rebalance, RoleBinding, Token


@admin.register(RoleBinding)
class RoleBindingAdmin(admin.ModelAdmin):
    list_display = ("user", "group", "role", "cluster_pattern", "group_pattern")


@admin.register(Identity)
class IdentityAdmin(admin.ModelAdmin):
    """Links a user who is there already with a provider's subject; a sign-in does so by itself for new ones."""

    list_display = ("user", "issuer", "subject")


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows that are written by the product alone."""

    def has_add_permission(self, request) -> bool:
        return False

    def has_change_permission(self, request, obj=None) -> bool:
        return False

    def has_delete_permission(self, request, obj=None) -> bool:
        return False


@admin.register(Token)
class TokenAdmin(ReadOnlyAdmin):
    """Tokens are made through the API, which alone shows their text; here they may be revoked."""

    list_display = ("name", "owner", "role", "cluster_pattern", "group_pattern", "expires_at", "last_used_at")
    exclude = ("digest",)

    def has_delete_permission(self, request, obj=None) -> bool:
        return True


@admin.register(AuditRow)
class AuditRowAdmin(ReadOnlyAdmin):
    list_display = ("at", "actor", "action", "cluster", "group_id", "outcome")
    list_filter = ("action", "outcome")


@admin.register(Rebalance)
class RebalanceAdmin(ReadOnlyAdmin):
    list_display = ("ended_at", "cluster", "group_id", "number", "cause")


@admin.register(OffsetBackup)
class OffsetBackupAdmin(ReadOnlyAdmin):
    list_display = ("taken_at", "cluster", "group_id", "action", "actor", "void", "used_at")
