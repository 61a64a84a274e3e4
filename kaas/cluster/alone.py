"""A cluster of one: the broker is its own controller, and no lease is needed.

Job: the assignment of a broker that serves alone, with a version one above the last, so that whatever it writes in this life is
newer than what it wrote in the last.
"""

from __future__ import annotations

import base64
import uuid
from pathlib import Path

from kaas.cluster import assignment
from kaas.cluster.assignment import Assignment, BrokerEntry


def take_over(cluster_folder: Path, broker: BrokerEntry, now_ms: int) -> Assignment:
    """The next assignment of this volume, written. Raises BadAssignment, OSError."""
    before = assignment.read(cluster_folder)
    after = Assignment(
        controller_epoch=before.controller_epoch + 1 if before is not None else 1,
        assignment_version=before.assignment_version + 1 if before is not None else 1,
        generated_at=now_ms,
        controller=broker.id,
        cluster_id=before.cluster_id if before is not None and before.cluster_id else new_cluster_id(),
        brokers=(broker,),
    )
    assignment.write(cluster_folder, after)
    return after


def new_cluster_id() -> str:
    """22 characters, as Kafka's tools make them."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
