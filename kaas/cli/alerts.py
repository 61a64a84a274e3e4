"""The command about alerts.

Must not know: rules, webhooks; pages and the API make those.
"""

from __future__ import annotations

import click

from kaas.cli.exits import Exit, Failed
from kaas.cli.options import Said, everywhere
from kaas.cli.output import Column

ALERTS = (
    Column("rule"),
    Column("state"),
    Column("cluster"),
    Column("group", "group_id"),
    Column("since"),
    Column("what", "text"),
)


@click.command()
@click.option("--state", multiple=True, help="pending, firing or resolved; may be repeated.")
@click.option("--rule", help="Alerts of this rule only.")
@click.option("--group", "group_id", help="Alerts of this group only.")
@click.option("--limit", type=click.IntRange(min=1), default=100, show_default=True, help="At most so many.")
@click.option("--fail-if-firing", is_flag=True, help="End with status 1 when one of them fires.")
@everywhere
def alerts(said: Said, limit: int, fail_if_firing: bool, **query: str | tuple[str, ...] | None) -> None:
    """List alerts of every cluster, firing ones first."""
    found = said.rest.listing("alerts/", query, limit)
    said.out.rows(found, found["items"], ALERTS)
    firing = sum(row["state"] == "firing" for row in found["items"])
    if fail_if_firing and firing:
        raise Failed(Exit.REFUSED, f"{firing} alert{'s fire' if firing != 1 else ' fires'}.")
