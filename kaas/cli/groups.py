"""Commands that look at groups: list, describe, members, offsets, rebalances, lag.

Must not know: how an answer is printed.
"""

from __future__ import annotations

from typing import Any

import click

from kaas.cli.exits import Exit, Failed
from kaas.cli.options import Said, everywhere
from kaas.cli.output import Column, Row


def number_of(name: str) -> Any:
    """A number by name, exact also where JSON's numbers are not: above 2^53 it has a twin that is text."""
    return lambda row: int(row[f"{name}_str"]) if f"{name}_str" in row else row.get(name)


GROUPS = (
    Column("group", "group_id"),
    Column("state"),
    Column("type"),
    Column("members", "member_count", number=True),
    Column("lag", number_of("total_lag"), number=True),
    Column("status", "lag_status"),
    Column("last rebalance", lambda row: (row["last_rebalance"] or {}).get("at")),
    Column("cause", lambda row: (row["last_rebalance"] or {}).get("cause_text")),
)
MEMBERS = (
    Column("member", "member_id"),
    Column("instance", "instance_id"),
    Column("client", "client_id"),
    Column("host"),
    Column("state"),
    Column("epoch", number=True),
    Column("protocol", "kind"),
    Column("lag", number_of("lag"), number=True),
    Column("silent ms", "last_heartbeat_ms_ago", number=True),
    Column("assignment", lambda row: assignment_words(row)),
)
OFFSETS = (
    Column("topic"),
    Column("partition", number=True),
    Column("start", number_of("log_start"), number=True),
    Column("committed", number_of("committed"), number=True),
    Column("end", number_of("log_end"), number=True),
    Column("lag", number_of("lag"), number=True),
    Column("state", "lag_state"),
    Column("owner", "owner_client_id"),
    Column("committed at"),
    Column("metadata"),
)
REBALANCES = (
    Column("number", number=True),
    Column("ended at"),
    Column("took ms", "duration_ms", number=True),
    Column("generation", "generation_after", number=True),
    Column("members", lambda row: f"{row['members_before']} to {row['members_after']}"),
    Column("moved", "moved_count", number=True),
    Column("cause", "cause_text"),
)
LAG = (
    Column("at"),
    Column("lag", number_of("lag"), number=True),
    Column("committed", number_of("committed"), number=True),
    Column("end", number_of("log_end"), number=True),
)


def assignment_words(member: Row) -> str | None:
    """Topics with their partitions, as `orders:0,1`; raw bytes where nobody could decode them."""
    if member["assignment"] is None:
        raw: str | None = member["assignment_raw"]
        return raw
    return (
        " ".join(f"{part['topic']}:{','.join(map(str, part['partitions']))}" for part in member["assignment"]) or None
    )


def partly(errors: list[dict[str, Any]]) -> None:
    """Ends a command whose answer is not whole.

    Raises Failed (partly) when there are errors.
    """
    if errors:
        raise Failed(Exit.PARTLY, " ".join(str(error["message"]) for error in errors))


@click.group()
def groups() -> None:
    """Consumer groups."""


@groups.command("list")
@click.option("--search", help="Part of the group id; case does not matter.")
@click.option("--regex", help="RE2 expression that is found in the group id.")
@click.option("--state", multiple=True, help="State in Kafka's words; may be repeated.")
@click.option("--type", "type_", multiple=True, help="classic, consumer, simple, ...; may be repeated.")
@click.option("--topic", help="Groups that read this topic or committed there.")
@click.option("--min-lag", type=click.IntRange(min=0), help="Groups with at least this lag.")
@click.option("--coordinator", type=int, help="Groups of this broker.")
@click.option("--ordering", help="A column; with - in front the largest first.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many groups.")
@everywhere
def groups_list(said: Said, limit: int | None, type_: tuple[str, ...], **query: Any) -> None:
    """List groups."""
    found = said.rest.listing(said.of_cluster("groups/"), {**query, "type": type_}, limit)
    said.out.rows(found, found["items"], GROUPS)
    partly(found["errors"])


@groups.command()
@click.argument("group")
@everywhere
def describe(said: Said, group: str) -> None:
    """Show a group: state, phase, whom it waits for, members, offsets."""
    row = said.rest.ask("GET", said.of_group(group))
    if said.output != "table":
        said.out.rows(row, [row], GROUPS)
        return
    offsets = said.rest.ask("GET", said.of_group(group, "offsets/"))
    said.out.facts(_facts(row))
    said.out.rows(row, row["members"], MEMBERS, "Members")
    said.out.rows(offsets, offsets["items"], OFFSETS, "Offsets")
    partly(offsets["errors"])


def _facts(row: Row) -> dict[str, Any]:
    phase, last = row["phase"], row["last_rebalance"]
    waiting = [one["client_id"] or one["member_id"] or one["timer"] for one in phase["waiting_for"]]
    facts = {
        "Group": row["group_id"],
        "State": row["state"],
        "Since": row["state_since"],
        "Type": row["type"],
        "Protocol": row["protocol"] or None,
        "Generation": row["generation"],
        "Group epoch": row["group_epoch"],
        "Assignment epoch": row["assignment_epoch"],
        "Classic members": row["classic_member_count"] or None,
        "Phase": phase["name"],
        "Waits for": waiting or None,
        "Total lag": number_of("total_lag")(row),
        "Lag status": row["lag_status"],
        "Coordinator": row["coordinator"],
        "Last rebalance": last and f"{last['at']}: {last['cause_text']}",
        "Error": row["error"],
    }
    return {name: value for name, value in facts.items() if value is not None}


@groups.command()
@click.argument("group")
@everywhere
def members(said: Said, group: str) -> None:
    """List the members of a group, idle ones too."""
    found = said.rest.ask("GET", said.of_group(group, "members/"))
    said.out.rows(found, found["items"], MEMBERS)


@groups.command()
@click.argument("group")
@everywhere
def offsets(said: Said, group: str) -> None:
    """List committed offsets and lag by partition."""
    found = said.rest.ask("GET", said.of_group(group, "offsets/"))
    said.out.rows(found, found["items"], OFFSETS)
    partly(found["errors"])


@groups.command()
@click.argument("group")
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, help="The last so many.")
@everywhere
def rebalances(said: Said, group: str, limit: int) -> None:
    """List past rebalances with their causes, the newest first."""
    found = said.rest.listing(said.of_group(group, "rebalances/"), limit=limit)
    said.out.rows(found, found["items"], REBALANCES)


@groups.command()
@click.argument("group")
@click.option("--topic", help="This topic only.")
@click.option("--partition", type=click.IntRange(min=0), help="This partition of the topic only.")
@click.option("--points", type=click.IntRange(1, 1_000), default=30, show_default=True, help="So many moments.")
@click.option("--from", "from_", help="Moment with its zone, as 2026-01-31T12:00:00Z; an hour ago when left out.")
@click.option("--to", help="Moment with its zone; now when left out.")
@everywhere
def lag(said: Said, group: str, from_: str | None, **query: Any) -> None:
    """Show lag over time, its status and when it will be cleared."""
    found = said.rest.ask("GET", said.of_group(group, "lag/"), {**query, "from": from_})
    if now := found["now"]:
        said.out.facts(
            {
                "Lag": number_of("total_lag")(now),
                "Status": f"{now['lag_status']}: {now['lag_status_text']}",
                "Behind": now["behind_text"],
                "Clears": now["clears_text"],
            }
        )
    said.out.rows(found, found["items"], LAG, "Over time")
    partly(found["errors"])
