"""The same on PostgreSQL: tests whose subject is what the database does, run once more against a server of their own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from kaasadmin.tests.postgres import postgres
from kaasadmin.tests.product import ROOT

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
    "kaasadmin/tests/test_hostile_text.py::test_alerts_and_jobs_show_it_as_text",
    "kaasadmin/tests/test_hostile_text.py::test_pages_of_writes_show_it_as_text",
    "offsets/tests/test_api_arm.py",
    "offsets/tests/test_api_plans.py",
    "offsets/tests/test_api_undo.py",
)


@pytest.fixture
def database_url():
    with postgres() as url:
        yield url


def test_what_leans_on_the_database_holds_there_too(database_url):
    env = {**os.environ, "DATABASE_URL": database_url}
    env.pop("PYTEST_XDIST_WORKER", None)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:xdist", *FILES]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=170, check=False)
    assert done.returncode == 0, done.stdout[-5_000:]
