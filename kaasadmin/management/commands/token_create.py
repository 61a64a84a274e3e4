"""`manage.py token_create NAME`: an administrator's token for scripts; its text is the last line printed."""

from __future__ import annotations

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError

from groups.authentication import principal_of_user
from groups.choices import Role
from groups.problems import Problem
from groups.services import token_create


class Command(BaseCommand):
    help = "Makes a token of the first administrator (or of --user) and prints it; it is shown this once."

    def add_arguments(self, parser) -> None:
        parser.add_argument("name", help="What the token is for.")
        parser.add_argument("--user", help="Whose token it is; the first administrator's when left out.")
        parser.add_argument("--role", choices=Role.values, default=Role.ADMIN)
        parser.add_argument("--cluster", default="*", help="Shell pattern of cluster names.")
        parser.add_argument("--group-pattern", default="*", help="Shell pattern of group ids.")

    def handle(self, *args, **options) -> None:
        users = get_user_model().objects.filter(is_active=True).order_by("pk")
        chosen = users.filter(username=options["user"]) if options["user"] else users.filter(is_superuser=True)
        user = chosen.first()
        if user is None:
            raise CommandError("There is no such user: run administrator_ensure first, or name one with --user.")
        try:
            made = token_create(
                principal_of_user(user),
                name=options["name"],
                role=options["role"],
                cluster=options["cluster"],
                group_pattern=options["group_pattern"],
            )
        except Problem as problem:
            raise CommandError(problem.message) from problem
        self.stdout.write(made["token"])
