"""`manage.py docs`: write the generated pages of docs/ anew."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from kaasadmin.documents import pages


class Command(BaseCommand):
    help = "Writes docs/PROTOCOL.md and docs/OPERATIONS.md from docs/src/ and the code."

    def handle(self, *args: Any, **options: Any) -> None:
        for path, text in pages().items():
            path.write_text(text)
            self.stdout.write(f"docs/{path.name}")
