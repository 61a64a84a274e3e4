"""Audit rows: written before an action, completed after it, whatever happens in between.

Job: one context manager for every write of the console.
Rules: a row that still says `started` names an action whose process died; nothing changes or deletes a completed row.
Must not know: what the action does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from groups.choices import Outcome
from groups.fields import id_digest
from groups.models import AuditRow

OF_CLUSTERS = ("files_sweep", "job_start", "job_cancel", "job_end")
"""Actions that may be about no group: then their row names none, though the empty id is one too."""


@contextmanager
def audited(
    *, actor: str, action: str, cluster: str = "", group_id: str = "", before: Any = None
) -> Iterator[AuditRow]:
    """Surrounds an action with its row. The block sets `after`, and `outcome` when not all of it was done.

    An exception completes the row as failed, with its message, and goes on.
    """
    row = AuditRow.objects.create(
        actor=actor,
        action=action,
        cluster=cluster,
        group_id=group_id,
        group_digest=id_digest(group_id),
        before=before,
    )
    try:
        yield row
    except Exception as problem:
        _complete(row, Outcome.FAILED, str(problem))
        raise
    _complete(row, Outcome.DONE if row.outcome == Outcome.STARTED else row.outcome, row.message)


def audited_last(cluster: str, group_id: str, actions: Iterable[str], since: datetime) -> AuditRow | None:
    """The newest of these actions on a group that was done since a moment, at least in part."""
    return (
        AuditRow.objects.filter(cluster=cluster, group_digest=id_digest(group_id), action__in=actions, at__gte=since)
        .exclude(outcome=Outcome.FAILED)
        .first()
    )


def _complete(row: AuditRow, outcome: str, message: str) -> None:
    row.outcome, row.message = outcome, message
    row.save(update_fields=["after", "outcome", "message"])
