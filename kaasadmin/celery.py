"""The Celery application: `celery -A kaasadmin worker -B` runs the tasks and the beat that starts them.

Job: settings to Celery, and the schedule.
Rules: each task is small and safe against a twin; a turn that waited longer than its period is dropped (`expires`),
because the next one does its work.
Must not know: what the tasks do.
"""

from __future__ import annotations

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kaasadmin.settings")

app = Celery("kaasadmin")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

SCHEDULE_S = {
    "groups.tasks.history_write": 1.0,
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
