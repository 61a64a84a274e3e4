"""`manage.py administrator_ensure`: makes the first administrator when there is none."""

from __future__ import annotations

import secrets

from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand
from django.db import IntegrityError

NAME = "admin"


class Command(BaseCommand):
    help = "Makes the administrator `admin` with KAAS_ADMIN_PASSWORD, or with a password that is printed this once."

    def handle(self, *args, **options) -> None:
        users = get_user_model()
        if users.objects.filter(is_superuser=True).exists():
            self.stdout.write("There is an administrator already.")
            return
        given = settings.KAAS.admin_password
        password = given or secrets.token_urlsafe(12)
        try:
            users.objects.create_superuser(NAME, password=password)
        except IntegrityError:
            self.stdout.write("There is an administrator already.")  # a second start was faster
            return
        self.stdout.write(f"Administrator: {NAME}")
        if not given:
            self.stdout.write(f"Password, shown this once: {password}")
