"""The pages of docs/ that are made from the code, so that they cannot differ from it.

Job: docs/PROTOCOL.md, docs/OPERATIONS.md and docs/CLI.md from their sources in docs/src/ and from the tables of the code.
Rules: a source holds `{{ name }}` where a table goes; every table here has a place and every place a table. A test compares
what stands in docs/ with what this makes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from kaas.broker.handlers import MODULES
from kaas.broker.security.operations import NEEDS
from kaas.broker.settings import TABLE
from kaas.cli.__main__ import cli
from kaas.cli.exits import Exit
from kaas.coordinator.classic.states import TABLE as STATES
from kaas.coordinator.modern.states import MEMBERS as CONSUMER_MEMBER_STATES
from kaas.coordinator.modern.states import TABLE as CONSUMER_STATES
from kaas.coordinator.transactions.states import TABLE as TRANSACTION_STATES
from kaas.errors import ErrorCode
from kaas.wire.apis import APIS
from kaasadmin.environment import VARIABLES

DOCS = Path(__file__).resolve().parent.parent / "docs"
SOURCES = DOCS / "src"
_HELP_WIDTH = 100
PLACE = re.compile(r"\{\{ (\w+) \}\}")


def table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """A Markdown table."""
    cell = lambda value: str(value).replace("|", "\\|").replace("\n", " ")  # noqa: E731
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell(value) for value in row) + " |" for row in lines)


def first_lines(doc: str | None) -> str:
    """What a handler says of its versions and what it leaves out: its docstring without the title line."""
    return " ".join((doc or "").split("\n\n", 1)[-1].split())


def apis() -> str:
    rows = []
    for key, api in APIS.items():
        versions = f"{api.min_version}-{api.max_version}"
        if api.lowest_advertised != api.min_version:
            versions += f" (advertised from {api.lowest_advertised})"
        rows.append((key, api.name, versions, f"{api.purpose}. {first_lines(MODULES[key].__doc__)}"))
    return table(("key", "API", "versions", "what for; what each version added; what is left out"), rows)


def states() -> str:
    """States of a classic group."""
    rows = []
    for state, row in STATES.items():
        exits = ", ".join(other.value for other in row.exits) or "none"
        sync = "park, or the assignment" if row.sync is None else f"{int(row.sync)} {row.sync.name}"
        rows.append(
            (state.value, row.enters, f"{int(row.heartbeat)}", sync, f"{int(row.commit)}", f"{row.leaves} ({exits})")
        )
    head = ("state", "enters", "Heartbeat", "SyncGroup", "OffsetCommit of a member", "leaves (to)")
    return (
        table(head, rows)
        + "\n\n"
        + diagram({state.value: [s.value for s in row.exits] for state, row in STATES.items()})
    )


def consumer_states() -> str:
    """States of a consumer group, and of its members."""
    groups = [
        (state.value, row.means, f"{row.leaves} ({', '.join(other.value for other in row.exits) or 'none'})")
        for state, row in CONSUMER_STATES.items()
    ]
    members = [
        (state.name, str(int(state)), row.means, row.epoch, row.told, row.leaves)
        for state, row in CONSUMER_MEMBER_STATES.items()
    ]
    return (
        table(("state", "means", "leaves (to)"), groups)
        + "\n\n"
        + diagram({state.value: [s.value for s in row.exits] for state, row in CONSUMER_STATES.items()})
        + "\n\n"
        + table(("state of a member", "number", "means", "its epoch", "its heartbeat is told", "leaves"), members)
    )


def transaction_states() -> str:
    """States of a transactional id."""
    rows: list[tuple[object, ...]] = [
        (state.value, row.enters, ", ".join(other.value for other in row.exits) or "none")
        for state, row in TRANSACTION_STATES.items()
    ]
    exits = {state.value: [other.value for other in row.exits] for state, row in TRANSACTION_STATES.items()}
    return table(("state", "enters", "goes to"), rows) + "\n\n" + diagram(exits)


def diagram(exits: dict[str, list[str]]) -> str:
    """A state machine that begins in Empty and ends in Dead."""
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> Empty"]
    lines += [f"    {state} --> {other}" for state, others in exits.items() for other in others]
    return "\n".join([*lines, "    Dead --> [*]", "```"])


def errors() -> str:
    rows: list[tuple[object, ...]] = [
        (int(code), code.name, "yes" if code.retriable else "no", code.meaning) for code in ErrorCode
    ]
    return table(("code", "name", "retriable", "meaning"), rows)


def variables() -> str:
    rows: list[tuple[object, ...]] = [
        (f"`{v.name}`", f"`{v.default}`" if v.default else "unset", v.meaning) for v in VARIABLES
    ]
    return table(("variable", "default", "what it changes"), rows)


def broker_settings() -> str:
    rows: list[tuple[object, ...]] = [
        (
            f"`{s.name}`",
            s.kind,
            f"`{s.default}`" if s.default != "" else "empty",
            "yes" if s.dynamic else "",
            s.meaning,
        )
        for s in TABLE.values()
    ]
    return table(("setting", "type", "default", "while it runs", "what it changes"), rows)


def rights() -> str:
    """Which API asks for which right."""
    rows: list[tuple[object, ...]] = []
    for key, needs in NEEDS.items():
        for need in needs:
            answer = "is left out" if need.refusal is None else f"{int(need.refusal)} {need.refusal.name}"
            rows.append((APIS[key].name, need.operation.name, need.kind.name, answer))
    everybody = ", ".join(APIS[key].name for key, needs in NEEDS.items() if not needs)
    head = ("API", "operation", "on", "without it")
    return f"{table(head, rows)}\n\nFor everybody: {everybody}."


def exits() -> str:
    return table(("status", "means"), [(int(status), status.meaning) for status in Exit])


def commands() -> str:
    """Every command of the command line: usage, what it does, and the options that not all commands have."""
    return "\n\n".join(_helps(click.Context(cli, info_name="kaas")))


def _helps(context: click.Context) -> Iterator[str]:
    command = context.command
    if isinstance(command, click.Group):
        for name, inside in command.commands.items():
            yield from _helps(click.Context(inside, info_name=name, parent=context))
        return
    written = click.HelpFormatter(width=_HELP_WIDTH)
    command.format_usage(context, written)
    options = [one.get_help_record(context) for one in command.params if _is_own(one)]
    if rows := [row for row in options if row]:
        written.write_paragraph()
        written.write_dl(rows)
    name = context.command_path.removeprefix("kaas ")
    yield f"### {name}\n\n{command.help}\n\n```\n{written.getvalue().rstrip()}\n```"


def _is_own(parameter: click.Parameter) -> bool:
    """Whether this is an option that its command has and the others have not."""
    return isinstance(parameter, click.Option) and parameter.name not in {shared.name for shared in cli.params}


TABLES: dict[str, Callable[[], str]] = {
    "apis": apis,
    "states": states,
    "consumer_states": consumer_states,
    "transaction_states": transaction_states,
    "errors": errors,
    "variables": variables,
    "broker_settings": broker_settings,
    "rights": rights,
    "exits": exits,
    "commands": commands,
}


def pages() -> dict[Path, str]:
    """Every generated page: where it stands, and what it says. Raises KeyError for a place that has no table."""
    return {
        DOCS / source.name: PLACE.sub(lambda match: TABLES[match[1]](), source.read_text())
        for source in sorted(SOURCES.glob("*.md"))
    }
