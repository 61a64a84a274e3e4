"""`manage.py down`: stop what `make up` started with the same data folder."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kaasadmin.environment import environment
from kaasadmin.management.commands.up import PID_FILE

WITHIN_S = 20


class Command(BaseCommand):
    help = "Stops what `make up` started with this data folder."

    def handle(self, *args: Any, **options: Any) -> None:
        path = environment().data / PID_FILE
        pid = running(path)
        if pid is None:
            self.stdout.write(f"nothing runs with {path.parent}")
            return
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + WITHIN_S
        while running(path) is not None:
            if time.monotonic() > deadline:
                raise CommandError(f"process {pid} did not stop within {WITHIN_S} s")
            time.sleep(0.1)


def running(path: Path) -> int | None:
    """The process named in a pid file, if it lives."""
    try:
        pid = int(path.read_text())
        os.kill(pid, 0)
    except (FileNotFoundError, ValueError, ProcessLookupError):
        return None
    return pid
