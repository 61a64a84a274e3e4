"""The Celery application: `celery -A kaasadmin worker -B` runs the tasks and the beat that starts them.

Job: settings to Celery, the schedule, and the feeds that a worker reads as long as it lives.
Rules: each task is small and safe against a twin; a turn that waited longer than its period is dropped (`expires`),
because the next one does its work.
Must not know: what the tasks do.
"""

from __future__ import annotations

import os
from typing import Any

from celery import Celery
from celery.signals import before_task_publish, task_postrun, task_prerun, worker_ready, worker_shutdown
from django.conf import settings

from kaasadmin.logs import task_asked, task_began, task_ended

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kaasadmin.settings")

app = Celery("kaasadmin")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

before_task_publish.connect(task_asked)
task_prerun.connect(task_began)
task_postrun.connect(task_ended)

SCHEDULE_S = {
    "groups.tasks.history_write": 1.0,
    "groups.tasks.lag_sample": min(step.step_ms for step in settings.KAAS_LAG_STEPS) / 1_000,
    "groups.tasks.lag_sweep": 60.0,
    "groups.tasks.alerts_evaluate": 5.0,
    "groups.tasks.deliveries_send": 2.0,
    "groups.tasks.jobs_run": 1.0,
    "groups.tasks.feed_sweep": 60.0,
    "groups.tasks.expiry_sweep": 300.0,
    "offsets.tasks.armed_resets_sweep": 5.0,
    "offsets.tasks.plans_expire": 60.0,
    "offsets.tasks.files_sweep": 600.0,
}
"""Task to its period in seconds."""

app.conf.beat_schedule = {
    name: {"task": name, "schedule": period, "options": {"expires": period}} for name, period in SCHEDULE_S.items()
}


@worker_ready.connect
def feeds_start(**_: Any) -> None:
    """Reads the feeds in a thread of the worker: its tasks sample lag and judge alerts from the index."""
    from groups.feed_thread import FeedThread  # needs the apps, which this module must not

    app.feeds = FeedThread()
    app.feeds.start()


@worker_shutdown.connect
def feeds_stop(**_: Any) -> None:
    """Ends them with the worker."""
    if (feeds := getattr(app, "feeds", None)) is not None:
        feeds.stop()
