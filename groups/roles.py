"""Django's groups that come with the product: viewer, operator and admin, each with its role everywhere.

Job: make them after a migration, when they are not there.
Rules: one that an administrator changed or whose binding was taken away stays as it is.
Must not know: who is in them.
"""

from __future__ import annotations

from typing import Any

from groups.choices import ROLE_OF_DJANGO_GROUP


def roles_ensure(**_: Any) -> None:
    """Receiver of Django's post_migrate for this app."""
    from django.contrib.auth.models import Group

    from groups.models import RoleBinding

    for name, role in ROLE_OF_DJANGO_GROUP.items():
        group, is_new = Group.objects.get_or_create(name=name)
        if is_new:
            RoleBinding.objects.create(group=group, role=role)
