"""Celery's tasks of offsets."""

from __future__ import annotations

import structlog
from celery import shared_task

from groups.problems import Problem
from kaas.cluster.assignment import BadAssignment
from offsets import cleanup
from offsets.services import armed

_log = structlog.get_logger(__name__)


@shared_task(name="offsets.tasks.armed_resets_sweep")
def armed_resets_sweep() -> None:
    """Carries out the armed resets whose group emptied while nobody listened."""
    try:
        armed.armed_apply_all()
    except Problem as problem:
        _log.warning("armed_resets_sweep_failed", problem=problem.message)


@shared_task(name="offsets.tasks.plans_expire")
def plans_expire() -> None:
    """Ends the plans whose time is over."""
    armed.plans_expire()


@shared_task(name="offsets.tasks.files_sweep")
def files_sweep() -> None:
    """Removes debris among the embedded broker's files."""
    try:
        cleanup.files_sweep()
    except (OSError, BadAssignment) as problem:
        _log.warning("files_sweep_failed", problem=str(problem))
