"""kaasadmin.celery, with a real worker process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from redis import Redis

from groups.testing.feed import FeedWriter, rebalance_record, snapshot
from kaasadmin.celery import SCHEDULE_S, app

ROOT = Path(__file__).resolve().parents[2]


def test_every_scheduled_task_is_there():
    app.loader.import_default_modules()
    assert SCHEDULE_S.keys() <= app.tasks.keys()
    assert {entry["options"]["expires"] for entry in app.conf.beat_schedule.values()} == set(SCHEDULE_S.values())


def test_the_worker_has_threads():
    assert (app.conf.worker_pool, app.conf.task_ignore_result) == ("threads", True)
    assert app.conf.beat_schedule_filename.endswith("beat-schedule")


@pytest.fixture
def product(valkey, tmp_path):
    """The environment of a product of its own, migrated."""
    redis_url = f"unix://{valkey}?db=3"
    env = {
        **os.environ,
        "KAAS_DATA": str(tmp_path),
        "REDIS_URL": redis_url,
        "DATABASE_URL": "",
        "KAAS_LAG_KEPT": "1s:1h",
    }
    env.pop("PYTEST_XDIST_WORKER", None)
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=ROOT, env=env, check=True)
    with Redis.from_url(redis_url) as redis:
        redis.flushdb()
        yield env, FeedWriter(redis)


def test_a_worker_with_beat_writes_the_history_and_samples_lag(product):
    env, feed = product
    feed.broker()
    feed.topic("orders", (0, 10))
    feed.group(snapshot("shop", offsets={("orders", 0): 4}))
    feed.event("shop", "rebalance_completed", rebalance=rebalance_record())
    command = [sys.executable, "-m", "celery", "-A", "kaasadmin", "worker", "-B", "--loglevel=WARNING"]
    worker = subprocess.Popen(command, cwd=ROOT, env=env)
    count = "from groups.models import LagChunk, Rebalance; import time; end = time.time() + 60\n"
    count += (
        "while not (Rebalance.objects.exists() and LagChunk.objects.exists()) and time.time() < end: time.sleep(0.1)\n"
    )
    count += "print(Rebalance.objects.count(), LagChunk.objects.count())"
    try:
        shell = [sys.executable, "manage.py", "shell", "-v0", "-c", count]
        found = subprocess.run(shell, cwd=ROOT, env=env, capture_output=True, text=True, timeout=90, check=True)
        assert found.stdout.strip() == "1 2"
    finally:
        worker.terminate()
        assert worker.wait(30) == 0
