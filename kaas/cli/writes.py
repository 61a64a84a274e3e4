"""Commands that change groups: reset, undo, delete, delete-offsets, remove-member.

Job: show what would be done, ask, do it, show what came of it.
Rules: nothing is written before somebody said yes, on the terminal or by `--yes`; with `--dry-run` nothing ever is. The
console plans and checks; what is applied is the plan that was shown.
Must not know: how offsets are found.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TextIO

import click

from kaas.cli.exits import Exit, Failed
from kaas.cli.groups import number_of
from kaas.cli.options import Said, everywhere
from kaas.cli.output import Column
from kaas.cli.rest import Json, key_of

PLAN = (
    Column("topic"),
    Column("partition", number=True),
    Column("before", number_of("before"), number=True),
    Column("after", number_of("after"), number=True),
    Column("skipped", number_of("skipped"), number=True),
    Column("replayed", number_of("replayed"), number=True),
    Column("note"),
)
WRITTEN = (
    Column("topic"),
    Column("partition", number=True),
    Column("before", number_of("before"), number=True),
    Column("after", number_of("after"), number=True),
    Column("read back", number_of("read_back"), number=True),
    Column("error", lambda row: row["error"] and row["error"]["message"]),
)
UNDOABLE = (
    Column("id"),
    Column("action"),
    Column("by", "actor"),
    Column("at"),
    Column("partitions", number=True),
    Column("topics"),
)
LOST = (
    Column("topic"),
    Column("partition", number=True),
    Column("committed", lambda row: row.get("committed", row.get("before")), number=True),
    Column("error", lambda row: row.get("error") and row["error"]["message"]),
)

dry = click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
yes = click.option("--yes", is_flag=True, help="Do not ask.")
topics = click.option(
    "--topic", "topics", multiple=True, help="A topic, or some of its partitions as NAME:0,1; may be repeated."
)


def scope_of(topics: Sequence[str]) -> list[Json]:
    """Topics as `NAME` or `NAME:0,1,2` in the shape of the API.

    Raises Failed (usage) for partitions that are no numbers.
    """
    scope = []
    for text in topics:
        topic, colon, partitions = text.partition(":")
        numbers = partitions.split(",") if colon else []
        if not topic or not all(number.isdecimal() for number in numbers):
            raise Failed(Exit.USAGE, f"{text!r} is no topic as NAME or NAME:0,1.")
        scope.append({"topic": topic, **({"partitions": [int(number) for number in numbers]} if colon else {})})
    return scope


def agreed(question: str, said_yes: bool) -> None:
    """Asks on the terminal.

    Raises Failed: refused when the answer is no, usage where there is nobody to ask.
    """
    if said_yes:
        return
    if not sys.stdin.isatty():
        raise Failed(Exit.USAGE, "Nobody can be asked here: say --yes, or --dry-run to see what would be done.")
    if not click.confirm(question, err=True):
        raise Failed(Exit.REFUSED, "Nothing was changed.")


def _moment(value: str) -> str:
    """A moment with its zone; one without is local time here, so that everybody means the same."""
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        raise Failed(Exit.USAGE, f"{value!r} is no moment as 2026-01-31T12:00:00Z.") from None
    return (moment if moment.tzinfo else moment.astimezone()).isoformat()


_STRATEGIES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "to_earliest": ("earliest", lambda _: None),
    "to_latest": ("latest", lambda _: None),
    "to_current": ("current", lambda _: None),
    "to_offset": ("offset", int),
    "to_datetime": ("timestamp", _moment),
    "by_duration": ("duration", str),
    "shift_by": ("shift", int),
    "from_file": ("csv", lambda file: file.read()),
    "from_group": ("group", str),
}


def strategy_of(given: dict[str, Any]) -> tuple[str, Any]:
    """The one strategy among the options, with its value as the API takes it.

    Raises Failed (usage) when there is none or more than one.
    """
    chosen = [name for name in _STRATEGIES if given[name] is not None and given[name] is not False]
    if len(chosen) != 1:
        names = ", ".join("--" + name.replace("_", "-") for name in _STRATEGIES)
        raise Failed(Exit.USAGE, f"Say where to, in one way: {names}.")
    strategy, take = _STRATEGIES[chosen[0]]
    return strategy, take(given[chosen[0]])


@click.command()
@click.argument("group")
@click.option("--to-earliest", is_flag=True, help="To the log's start.")
@click.option("--to-latest", is_flag=True, help="To the log's end.")
@click.option("--to-current", is_flag=True, help="To where the offsets are, inside the log.")
@click.option("--to-offset", type=int, help="To this offset.")
@click.option("--to-datetime", help="To the first record at or after this moment; without a zone it is local time.")
@click.option("--by-duration", help="To so long ago, as PT1H30M.")
@click.option("--shift-by", type=int, help="By so many records; negative is back.")
@click.option("--from-file", type=click.File(), help="To the lines topic,partition,offset of a file; - is the input.")
@click.option("--from-group", help="To where another group is.")
@click.option("--all-topics", is_flag=True, help="Every topic that the group committed in.")
@topics
@click.option("--arm", is_flag=True, help="While the group has members: apply it the moment they are gone.")
@dry
@yes
@everywhere
def reset(
    said: Said,
    group: str,
    all_topics: bool,
    topics: tuple[str, ...],
    arm: bool,
    dry_run: bool,
    yes: bool,
    **given: TextIO | str | int | bool | None,
) -> None:
    """Reset offsets: shows the plan, asks, applies exactly that plan, reads back what was written."""
    strategy, value = strategy_of(given)
    if all_topics == bool(topics):
        raise Failed(Exit.USAGE, "Say which topics: --all-topics, or --topic once or more.")
    scope = {"all": True} if all_topics else {"topics": scope_of(topics)}
    body = {"strategy": strategy, "value": value, "scope": scope}
    plan = said.rest.ask("POST", said.of_group(group, "reset-plans/"), {"dry_run": _flag(dry_run)}, body)
    if said.output == "table" or dry_run:
        said.out.rows(plan, plan["items"], PLAN)
    if dry_run:
        return
    if arm and not plan["applicable"]:
        _armed(said, group, plan, yes)
        return
    if not plan["applicable"]:
        raise Failed(Exit.REFUSED, plan["reason"])
    agreed(f"Reset {len(plan['items'])} partitions of {group}?", yes)
    _show_written(said, said.rest.ask("POST", said.of_group(group, f"reset-plans/{plan['id']}/apply/")))


def _armed(said: Said, group: str, plan: Json, said_yes: bool) -> None:
    agreed(f"{plan['reason']} Reset {group} the moment it is empty?", said_yes)
    armed = said.rest.ask("POST", said.of_group(group, f"reset-plans/{plan['id']}/arm/"))
    said.out.rows(armed, [armed], (Column("id"), Column("armed"), Column("expires at")))


def _show_written(said: Said, answer: Json) -> None:
    said.out.rows(answer, answer["items"], WRITTEN, f"Outcome: {answer['outcome']}")
    if answer["outcome"] == "partly":
        raise Failed(Exit.PARTLY, "Not every partition was written.")


@click.command()
@click.argument("group")
@click.option("--list", "only_list", is_flag=True, help="Show what can be undone, and change nothing.")
@click.option("--id", "which", help="Which reset or delete, as --list names it; the last one when left out.")
@dry
@yes
@everywhere
def undo(said: Said, group: str, only_list: bool, which: str | None, dry_run: bool, yes: bool) -> None:
    """Put back the offsets that a reset or delete took away."""
    address = said.of_group(group, "undo/")
    if only_list:
        told = said.rest.listing(address)
        said.out.rows(told, told["items"], UNDOABLE)
        return
    chosen = {} if which is None else {"id": which}
    found = said.rest.ask("POST", address, {"dry_run": "true"}, chosen)
    if said.output == "table" or dry_run:
        said.out.rows(found, found["items"], WRITTEN[:4])
    if not dry_run:
        agreed(f"Put back {len(found['items'])} offsets of {group}?", yes)
        # By its id, so that what is put back is what was shown
        _show_written(said, said.rest.ask("POST", address, body={"id": found["id"]}))


@click.command()
@click.argument("groups", nargs=-1, required=True, metavar="GROUP...")
@dry
@yes
@everywhere
def delete(said: Said, groups: tuple[str, ...], dry_run: bool, yes: bool) -> None:
    """Delete groups with their offsets; `undo` can put the offsets back."""
    found, failed = _each(groups, lambda group: said.rest.ask("DELETE", said.of_group(group), {"dry_run": "true"}))
    columns = (Column("group", "group_id"), Column("offsets", lambda row: len(row["offsets"]), number=True))
    if found and (said.output == "table" or dry_run):
        said.out.rows(found, found, columns)
    if found and not dry_run:
        agreed(f"Delete {len(found)} group{'s' if len(found) != 1 else ''}?", yes)
        names = [str(row["group_id"]) for row in found]
        found, refused = _each(names, lambda group: said.rest.ask("DELETE", said.of_group(group)))
        failed += refused
        if said.output != "table":
            said.out.rows(found, found, columns)
    _end(found, failed)


def _each(names: Sequence[str], act: Callable[[str], Json]) -> tuple[list[Json], list[Failed]]:
    done, failed = [], []
    for name in names:
        try:
            done.append(act(name))
        except Failed as problem:
            failed.append(Failed(problem.status, f"{name}: {problem}", problem.problem))
    return done, failed


def _end(done: list[Json], failed: list[Failed]) -> None:
    """Raises Failed: as the only one failed, or partly."""
    if not failed:
        return
    if not done and len({one.status for one in failed}) == 1:
        status = failed[0].status
    else:
        status = Exit.PARTLY if done else Exit.REFUSED
    problem = failed[0].problem if len(failed) == 1 else None
    raise Failed(status, "\n".join(map(str, failed)), problem)


@click.command("delete-offsets")
@click.argument("group")
@topics
@dry
@yes
@everywhere
def delete_offsets(said: Said, group: str, topics: tuple[str, ...], dry_run: bool, yes: bool) -> None:
    """Delete the offsets of topics that nobody in the group reads any more."""
    if not topics:
        raise Failed(Exit.USAGE, "Say which topics: --topic once or more.")
    address, body = said.of_group(group, "offsets/"), {"topics": scope_of(topics)}
    found = said.rest.ask("DELETE", address, {"dry_run": "true"}, body)
    if said.output == "table" or dry_run:
        said.out.rows(found, found["items"], LOST)
    if dry_run:
        return
    agreed(f"Delete {len(found['items'])} offsets of {group}?", yes)
    done = said.rest.ask("DELETE", address, body=body)
    if said.output != "table":
        said.out.rows(done, done["items"], LOST)
    failed = [Failed(Exit.REFUSED, str(row["error"]["message"])) for row in done["items"] if row["error"]]
    _end([row for row in done["items"] if not row["error"]], failed)


@click.command("remove-member")
@click.argument("group")
@click.argument("member")
@click.option("--reason", default="", help="Why; the member's client and the history are told.")
@dry
@yes
@everywhere
def remove_member(said: Said, group: str, member: str, reason: str, dry_run: bool, yes: bool) -> None:
    """Remove a member by its member id; its partitions go to the others."""
    if not dry_run:
        agreed(f"Remove {member} from {group}?", yes)
    address = said.of_group(group, f"members/{key_of(member)}/")
    done = said.rest.ask("DELETE", address, {"dry_run": _flag(dry_run)}, {"reason": reason})
    said.out.rows(done, [done], (Column("member", "member_id"), Column("removed"), Column("dry run")))


def _flag(value: bool) -> str | None:
    return "true" if value else None
