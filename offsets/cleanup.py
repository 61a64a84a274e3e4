"""The clean-up of the embedded broker's files.

Job: one round over the volume that worker and broker share; a row of the audit says what went.
Rules: which files are debris is the storage's business (`kaas.storage.debris`); a worker on another machine sees no
volume and does nothing.
Must not know: Celery.
"""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from groups.audit import audited
from groups.clusters import LOCAL
from groups.times import now_ms
from kaas.broker.settings import parse
from kaas.cluster import assignment
from kaas.storage.debris import Swept, sweep
from kaas.storage.files import CLUSTER_FOLDER


def files_sweep() -> Swept | None:
    """Removes debris; what went, null where there is no volume.

    Raises OSError, BadAssignment, and BadSetting when KAAS_BROKER_SET cannot be used.
    """
    folder = Path(settings.KAAS.data) / CLUSTER_FOLDER
    assigned = assignment.read(folder)
    if assigned is None:
        return None
    kept_ms = parse(settings.KAAS.broker_set.split())["offsets.retention.minutes"] * 60_000
    registered = [broker.id for broker in assigned.brokers]
    swept = sweep(folder, registered=registered, now_ms=now_ms(), tombstones_kept_ms=kept_ms)
    if swept:
        with audited(actor="sweep", action="files_sweep", cluster=LOCAL) as row:
            row.after = {"temporary": swept.temporary, "tombstones": swept.tombstones, "journals": swept.journals}
    return swept
