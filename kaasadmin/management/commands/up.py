"""`manage.py up`: prepare the database and run every process of the product until Ctrl-C. `make up` ends here."""

from __future__ import annotations

import errno
import os
import socket
import sys
import threading
import time
import urllib.request
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from honcho.manager import Manager

from kaasadmin.environment import Environment, environment
from kaasadmin.processes import commands

READY_WITHIN_S = 120
PID_FILE = "up.pid"


class Command(BaseCommand):
    help = "Runs everything: embedded Valkey (unless REDIS_URL is set), broker, web, worker with beat."

    def handle(self, *args: Any, **options: Any) -> None:
        env = environment()
        for name, host, port in (
            ("KAAS_BROKER_PORT", "127.0.0.1", env.broker_port),
            ("KAAS_WEB_PORT", env.web_host, env.web_port),
        ):
            check_port(name, host, port)
        call_command("migrate", interactive=False, verbosity=0)
        call_command("collectstatic", interactive=False, verbosity=0)
        call_command("administrator_ensure")
        sys.stdout.flush()
        pid_file = env.data / PID_FILE
        pid_file.write_text(str(os.getpid()))
        manager = Manager()
        for command in commands(env):
            manager.add_process(command.name, command.line, quiet=False, env={**os.environ, "PYTHONUNBUFFERED": "1"})
        threading.Thread(target=say_when_ready, args=(env,), daemon=True).start()
        try:
            manager.loop()
        finally:
            pid_file.unlink(missing_ok=True)
        sys.exit(0 if manager.returncode in (130, 143) else manager.returncode)


def check_port(name: str, host: str, port: int) -> None:
    """Raises CommandError when somebody listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as problem:
            why = "something listens there already" if problem.errno == errno.EADDRINUSE else str(problem)
            raise CommandError(f"{host}:{port} cannot be used: {why}; set {name} to another port") from None


def say_when_ready(env: Environment) -> None:
    """Say where to go once the product answers."""
    address = f"http://{env.web_host}:{env.web_port}"
    deadline = time.monotonic() + READY_WITHIN_S
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{address}/readyz", timeout=2):  # noqa: S310 - our own address
                break
        except OSError:
            time.sleep(0.2)
    else:
        return
    sys.stdout.write(
        f"\n  kaasadmin is ready: {address}{env.base_path}/\n"
        f"  Kafka clients: bootstrap.servers=127.0.0.1:{env.broker_port}\n"
        "  Lifelike groups to look at: make demo. Stop with Ctrl-C.\n\n"
    )
    sys.stdout.flush()
