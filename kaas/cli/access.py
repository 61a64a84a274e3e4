"""Commands about tokens and audit rows.

Must not know: who may do what; the console knows.
"""

from __future__ import annotations

import click

from kaas.cli.options import Said, everywhere
from kaas.cli.output import Column
from kaas.cli.writes import agreed, dry, yes

TOKENS = (
    Column("id", number=True),
    Column("name"),
    Column("owner"),
    Column("role"),
    Column("cluster"),
    Column("groups", "group_pattern"),
    Column("created at"),
    Column("expires at"),
    Column("last used at"),
)
AUDIT = (
    Column("at"),
    Column("actor"),
    Column("action"),
    Column("cluster"),
    Column("group", "group_id"),
    Column("outcome"),
    Column("message"),
)


@click.group()
def tokens() -> None:
    """Tokens for scripts."""


@tokens.command("list")
@everywhere
def tokens_list(said: Said) -> None:
    """List one's own tokens; an administrator sees everybody's."""
    found = said.rest.ask("GET", "tokens/")
    said.out.rows(found, found["items"], TOKENS)


@tokens.command()
@click.argument("name")
@click.option("--role", type=click.Choice(("read", "operate", "admin")), default="read", show_default=True)
@click.option("--clusters", default="*", show_default=True, help="Shell pattern of the clusters it is good for.")
@click.option("--groups", default="*", show_default=True, help="Shell pattern of the groups it is good for.")
@click.option("--expires-at", help="Moment with its zone, as 2026-12-31T00:00:00Z; never when left out.")
@dry
@everywhere
def create(said: Said, name: str, role: str, clusters: str, groups: str, expires_at: str | None, dry_run: bool) -> None:
    """Make a token; it is shown this once."""
    body = {"name": name, "role": role, "cluster": clusters, "group_pattern": groups, "expires_at": expires_at}
    made = said.rest.ask("POST", "tokens/", {"dry_run": "true" if dry_run else None}, body)
    said.out.rows(made, [made], (*TOKENS[:6], Column("token")))


@tokens.command()
@click.argument("token_id", type=int, metavar="ID")
@dry
@yes
@everywhere
def revoke(said: Said, token_id: int, dry_run: bool, yes: bool) -> None:
    """Revoke a token by its id: what it opened is closed at once."""
    if not dry_run:
        agreed(f"Revoke token {token_id}?", yes)
    said.rest.ask("DELETE", f"tokens/{token_id}/", {"dry_run": "true" if dry_run else None})


@click.command()
@click.option("--group", "group_id", help="This group only.")
@click.option("--actor", help="This actor only.")
@click.option("--action", help="This action only.")
@click.option("--limit", type=click.IntRange(min=1), default=50, show_default=True, help="The last so many.")
@everywhere
def audit(said: Said, limit: int, **query: str | None) -> None:
    """List who did what, the newest first, in every cluster."""
    found = said.rest.listing("audit/", query, limit)
    said.out.rows(found, found["items"], AUDIT)
