"""Celery's tasks: each calls one service for each cluster, and leaves what failed to its next turn.

Rules: nothing is decided here; a cluster or a server that does not answer is logged and stops no other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog
from celery import shared_task
from redis.exceptions import RedisError

from groups import cleanup, history
from groups.alerts import outbox
from groups.alerts.evaluation import alerts_evaluate as evaluate
from groups.clusters import Cluster, clusters
from groups.jobs import running
from groups.lag import sampling
from groups.problems import Problem

_log = structlog.get_logger(__name__)


@shared_task(name="groups.tasks.history_write")
def history_write() -> None:
    """Takes the stream of every cluster into the history, until each is read to its end."""
    _for_each_cluster("history_write", lambda cluster: _to_the_end(cluster.name))


@shared_task(name="groups.tasks.lag_sample")
def lag_sample() -> None:
    """Samples the lag of every group of every cluster."""
    _for_each_cluster("lag_sample", lambda cluster: sampling.lag_sample(cluster.name))


@shared_task(name="groups.tasks.lag_sweep")
def lag_sweep() -> None:
    """Deletes samples of lag whose time is over."""
    sampling.lag_sweep()


@shared_task(name="groups.tasks.alerts_evaluate")
def alerts_evaluate() -> None:
    """Looks at every group under every alert rule."""
    _for_each_cluster("alerts_evaluate", lambda cluster: evaluate(cluster.name))


@shared_task(name="groups.tasks.deliveries_send")
def deliveries_send() -> None:
    """Sends the webhooks' messages that are due."""
    outbox.deliveries_send()


@shared_task(name="groups.tasks.jobs_run")
def jobs_run() -> None:
    """Gives every running job one step."""
    running.jobs_run()


def _to_the_end(cluster: str) -> None:
    while history.history_write(cluster) == history.ENTRIES_PER_STEP:
        pass


@shared_task(name="groups.tasks.feed_sweep")
def feed_sweep() -> None:
    """Takes feed entries away whose group is gone."""
    _for_each_cluster("feed_sweep", cleanup.feed_sweep)


@shared_task(name="groups.tasks.expiry_sweep")
def expiry_sweep() -> None:
    """Deletes database rows whose time is over."""
    cleanup.expiry_sweep()


def _for_each_cluster(task: str, act: Callable[[Cluster], Any]) -> None:
    for cluster in clusters().values():
        try:
            act(cluster)
        except (Problem, RedisError) as problem:
            _log.warning(f"{task}_failed", cluster=cluster.name, problem=str(problem))
