"""Database columns for what Kafka allows and databases do not.

Job: ids of any length and any characters (PostgreSQL takes no NUL and indexes no long text), and JSON that may hold them.
Rules: an id is stored as its key (see groups.keys) and found by its digest; JSON is stored as escaped text, and nobody
queries inside it.
Must not know: models.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from django.db import models

from groups.keys import id_of, key_of

DIGEST_LENGTH = 32


def id_digest(id_: str) -> str:
    """What an id is found by: 32 hexadecimal digits, the same for equal ids only."""
    return hashlib.sha256(id_.encode()).hexdigest()[:DIGEST_LENGTH]


class IdField(models.TextField):
    """A group or member id: any text in Python, its key in the database."""

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> str | None:
        return None if value is None else id_of(value)

    def get_prep_value(self, value: str | None) -> str | None:
        return None if value is None else key_of(value)


class JsonTextField(models.TextField):
    """Any JSON value, stored as ASCII text."""

    def from_db_value(self, value: str | None, expression: Any, connection: Any) -> Any:
        return None if value is None else json.loads(value)

    def get_prep_value(self, value: Any) -> str | None:
        return None if value is None else json.dumps(value)

    def to_python(self, value: Any) -> Any:
        """What `dumpdata` wrote, read again."""
        return json.loads(value) if isinstance(value, str) else value

    def value_to_string(self, obj: models.Model) -> str:
        """What `dumpdata` writes."""
        return json.dumps(self.value_from_object(obj))
