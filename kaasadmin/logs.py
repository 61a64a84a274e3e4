"""Structured logs: one event a line, with the request's id, for people or for machines.

Job: one configuration for structlog and for the libraries that use logging; the id that everything logged for one
request, one socket or one task has in common.
Rules: a task that a request asked for carries that request's id. No token, password or record is ever logged.
Must not know: settings.
"""

from __future__ import annotations

import logging
import re
import sys
import uuid
from typing import Any

import structlog

REQUEST_ID = "X-Request-ID"
"""The header that carries the id in and out."""

_SANE = re.compile(r"[A-Za-z0-9._-]{1,64}")


def configure_logs(*, log_format: str, log_level: str) -> None:
    """Sends structlog and logging to standard error; `log_format` is console or json, `log_level` as logging names it."""
    shared = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=_rendering(log_format))
    )
    root = logging.getLogger()
    root.handlers = [*(kept for kept in root.handlers if not _is_ours(kept)), handler]
    root.setLevel(log_level)
    logging.getLogger("django.request").filters = [OnlyFailures()]
    for chatty in (
        "asyncio",
        "authlib",
        "celery.beat",
        "celery.worker.strategy",
        "celery.app.trace",
        "kombu",
        "django.channels",
    ):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, logging.getLevelName(log_level)))


def bind_request_id(given: str) -> str:
    """Begins a request, a socket or a task: what it logs from now on has this id, or a new one where that is no sane one."""
    request_id = given if _SANE.fullmatch(given) else uuid.uuid4().hex
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id=request_id)
    return request_id


def task_asked(headers: dict[str, Any], **_: Any) -> None:
    """Receiver of Celery's before_task_publish: the task takes the id of whoever asked for it along."""
    asked_by = structlog.contextvars.get_contextvars().get("request_id")
    if asked_by is not None:
        headers["request_id"] = asked_by


def task_began(task: Any, task_id: str, **_: Any) -> None:
    """Receiver of Celery's task_prerun."""
    bind_request_id(task.request.get("request_id") or task_id)
    structlog.contextvars.bind_contextvars(task=task.name)


def task_ended(**_: Any) -> None:
    """Receiver of Celery's task_postrun."""
    structlog.contextvars.clear_contextvars()


class OnlyFailures(logging.Filter):
    """Django logs every answer from 400 on. One that we chose to give is no event; a 500 is."""

    def filter(self, record: logging.LogRecord) -> bool:
        return getattr(record, "status_code", 500) == 500


def _is_ours(handler: logging.Handler) -> bool:
    return isinstance(handler.formatter, structlog.stdlib.ProcessorFormatter)


def _rendering(log_format: str) -> list:
    without_meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    if log_format == "json":
        return [without_meta, structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    # Plain traces: pretty ones print the values of variables, and among them may be tokens or records.
    plain = structlog.dev.plain_traceback
    return [without_meta, structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)]
