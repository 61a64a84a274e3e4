"""The metrics of single groups, as text.

Job: state, members and lag of each group in Prometheus' text format.
Rules: written line by line, because the client library takes some ten microseconds for a sample: half a second for ten
thousand groups. What is not known is no sample.
Must not know: who asks.
Source: Prometheus, exposition formats, text version 0.0.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from groups.index import GroupRow

_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})

STATE, MEMBERS = "kaas_group_state", "kaas_group_members"
LAG, TOPIC_LAG = "kaas_group_lag", "kaas_group_topic_lag"
HELP = {
    STATE: "1 for the state of each group.",
    MEMBERS: "Members of each group.",
    LAG: "Lag of each group over all partitions.",
    TOPIC_LAG: "Lag of each group in each topic.",
}


def group_lines(groups: Iterable[tuple[str, list[GroupRow]]]) -> Iterator[str]:
    """The lines of every family; `groups` are rows by cluster."""
    lines: dict[str, list[str]] = {
        name: [f"# HELP {name} {text}", f"# TYPE {name} gauge"] for name, text in HELP.items()
    }
    for cluster, rows in groups:
        for row in rows:
            _add(lines, f'cluster="{escaped(cluster)}",group="{escaped(row.group_id)}"', row)
    for family in lines.values():
        yield from family


def escaped(value: str) -> str:
    """A label's value as the format wants it; halves of characters, which UTF-8 has no place for, are replaced."""
    return value.translate(_ESCAPES).encode(errors="replace").decode()


def _add(lines: dict[str, list[str]], labels: str, row: GroupRow) -> None:
    lines[STATE].append(f'{STATE}{{{labels},state="{escaped(row.state)}"}} 1')
    lines[MEMBERS].append(f"{MEMBERS}{{{labels}}} {row.member_count}")
    if (total := row.total_lag()) is not None:
        lines[LAG].append(f"{LAG}{{{labels}}} {total}")
    for part in row.committed:
        if (lag := part.lag()[0]) is not None:
            lines[TOPIC_LAG].append(f'{TOPIC_LAG}{{{labels},topic="{escaped(part.log.name)}"}} {lag}')
