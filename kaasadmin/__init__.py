"""The Django project: settings, addresses, the ASGI and Celery applications; the one place where parts are wired."""

from kaasadmin.celery import app as celery_app

__all__ = ["celery_app"]
