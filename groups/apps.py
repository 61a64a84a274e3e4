"""The app's place in Django."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate

from groups.roles import roles_ensure


class GroupsConfig(AppConfig):
    name = "groups"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from groups.revocation import revocation_connect  # models are there only now

        revocation_connect()
        post_migrate.connect(roles_ensure, sender=self)
