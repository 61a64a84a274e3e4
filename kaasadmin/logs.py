"""Structured logs: one event a line, with the request's id, for people or for machines.

Job: one configuration for structlog and for the libraries that use logging.
Rules: what is logged while a request is answered carries that request's id (contextvars); no token, password or record
is ever logged.
Must not know: settings.
"""

from __future__ import annotations

import logging
import sys

import structlog


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
    for chatty in ("asyncio", "celery.beat", "celery.worker.strategy", "celery.app.trace", "kombu", "django.channels"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, logging.getLevelName(log_level)))


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
