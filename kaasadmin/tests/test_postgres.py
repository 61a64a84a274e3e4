"""The same on PostgreSQL: tests whose subject is what the database does, run once more against a server of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from kaasadmin.tests.product import ROOT, free_port
from tests.support.require import lacking

FILES = (
    "groups/tests/test_alerts_evaluation.py",
    "groups/tests/test_api_audit.py",
    "groups/tests/test_api_tokens.py",
    "groups/tests/test_audit.py",
    "groups/tests/test_cleanup.py",
    "groups/tests/test_fields.py",
    "groups/tests/test_history.py",
    "groups/tests/test_idempotency.py",
    "groups/tests/test_lag_sampling.py",
    "offsets/tests/test_api_arm.py",
    "offsets/tests/test_api_plans.py",
    "offsets/tests/test_api_undo.py",
)
NOBODY = "nobody"


def programs():
    """The folder of the newest PostgreSQL server; skips, or fails in CI, where there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda one: int(one.parts[-3]))
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        lacking("PostgreSQL not found")
    return found[-1].parent if found else Path(on_path).parent


@pytest.fixture
def database_url():
    """A server of its own on a free port; as root it runs as somebody else, because it refuses root."""
    bin_folder, port = programs(), free_port()
    user = {"user": NOBODY, "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory() as folder:
        if user:
            shutil.chown(folder, NOBODY)

        def run(program, *arguments):
            # Its output goes to a file: the server would keep a pipe open for as long as it lives.
            with tempfile.TemporaryFile() as told:
                command = [bin_folder / program, "-D", f"{folder}/data", *arguments]
                done = subprocess.run(command, cwd=folder, stdout=told, stderr=told, timeout=60, check=False, **user)
                told.seek(0)
                assert done.returncode == 0, told.read().decode()

        run("initdb", "-A", "trust", "-U", "postgres", "-N")
        options = f"-k {folder} -p {port} -c listen_addresses=127.0.0.1 -c fsync=off"
        run("pg_ctl", "-w", "-o", options, "start")
        yield f"postgres://postgres@127.0.0.1:{port}/postgres"
        run("pg_ctl", "-w", "-m", "immediate", "stop")


def test_what_leans_on_the_database_holds_there_too(database_url):
    env = {**os.environ, "DATABASE_URL": database_url}
    env.pop("PYTEST_XDIST_WORKER", None)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:xdist", *FILES]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=170, check=False)
    assert done.returncode == 0, done.stdout[-5_000:]
