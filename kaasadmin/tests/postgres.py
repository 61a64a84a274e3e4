"""A PostgreSQL server of a test's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

from kaasadmin.tests.product import free_port
from tests.support.require import lacking

NOBODY = "nobody"


def programs():
    """The folder of the newest PostgreSQL server; skips, or fails in CI, where there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda one: int(one.parts[-3]))
    on_path = shutil.which("initdb")
    if not found and on_path is None:
        lacking("PostgreSQL not found")
    return found[-1].parent if found else Path(on_path).parent


@contextmanager
def postgres():
    """The DATABASE_URL of a server on a free port; as root it runs as somebody else, because it refuses root."""
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
        try:
            yield f"postgres://postgres@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")
