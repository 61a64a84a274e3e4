"""Commands about clusters, topics and brokers.

Must not know: how an answer is printed.
"""

from __future__ import annotations

import click

from kaas.cli.groups import GROUPS, partly
from kaas.cli.options import Said, everywhere
from kaas.cli.output import Column
from kaas.cli.rest import segment

CLUSTERS = (
    Column("cluster", "name"),
    Column("bootstrap"),
    Column("source"),
    Column("connected"),
    Column("read only"),
    Column("age ms", "snapshot_age_ms", number=True),
    Column("groups", "group_count", number=True),
    Column("topics", "topic_count", number=True),
    Column("brokers", "broker_count", number=True),
)
TOPICS = (
    Column("topic"),
    Column("partitions", "partition_count", number=True),
    Column("groups", "group_count", number=True),
    Column("internal"),
    Column("known"),
)
BROKERS = (
    Column("broker", "id", number=True),
    Column("host"),
    Column("port", number=True),
    Column("state"),
    Column("lease ms", "lease_age_ms", number=True),
    Column("assignment", "assignment_version", number=True),
    Column("groups", "group_count", number=True),
    Column("error"),
)


@click.command()
@everywhere
def clusters(said: Said) -> None:
    """List clusters, how each is read, and how old that is."""
    found = said.rest.ask("GET", "clusters/")
    said.out.rows(found, found["items"], CLUSTERS)
    partly(found["errors"])


@click.command()
@click.argument("topic", required=False)
@everywhere
def topics(said: Said, topic: str | None) -> None:
    """List topics; with a TOPIC the groups that read it."""
    found = said.rest.ask("GET", said.of_cluster(f"topics/{segment(topic)}/groups/" if topic else "topics/"))
    said.out.rows(found, found["items"], GROUPS if topic else TOPICS)
    partly(found["errors"])


@click.command()
@everywhere
def brokers(said: Said) -> None:
    """List brokers and the groups that each coordinates."""
    found = said.rest.ask("GET", said.of_cluster("brokers/"))
    said.out.rows(found, found["items"], BROKERS)
    partly(found["errors"])
