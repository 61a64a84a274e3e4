"""`groups watch`: one group live in the terminal, a lane for each member.

Job: draw what kaas.cli.watched knows, a few times a second, until Ctrl-C.
Rules: it draws on the terminal's other screen, so what stood there before stands there afterwards, however the watch ends.
It says how old its data is, and when it is cut off. With `--output json` it prints each message as a line instead.
Must not know: how messages are read, what they mean.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

import click
from rich.console import Group
from rich.live import Live as Drawing
from rich.table import Table
from rich.text import Text

from kaas.cli.exits import Exit, Failed
from kaas.cli.groups import number_of
from kaas.cli.live import Live
from kaas.cli.options import Said, everywhere
from kaas.cli.output import visible, words
from kaas.cli.rest import key_of, segment
from kaas.cli.watched import MARKS, STABLE, Row, Watched, mark_of, silence_ms

TICK_S = 0.5
TERMINATED = 128 + signal.SIGTERM
_NAME_WIDTH = 24
_BESIDE_LANES = _NAME_WIDTH + 42
"""Columns that a row takes beside its lane."""

_LINES_BESIDE_LANES = 12


@click.command()
@click.argument("group")
@everywhere
def watch(said: Said, group: str) -> None:
    """Watch a group live: lanes of its members, the phase, whom it waits for. Ends with Ctrl-C."""
    if said.output == "csv":
        raise Failed(Exit.USAGE, "A live view has no CSV: take --output json, a message on each line.")
    said.rest.ask("GET", "clusters/")  # says at once what is wrong with address or token
    name = f"{segment(said.cluster)}/groups/{key_of(group)}"
    live = Live(f"{said.rest.server.replace('http', 'ws', 1)}/ws/clusters/{name}/", said.rest.token)
    try:
        if said.output == "json" or not said.out.screen.is_terminal:
            _print_lines(live)
        else:
            _draw(said, group, live)
    finally:
        live.close()


def _print_lines(live: Live) -> None:
    while True:
        if message := live.take(TICK_S):
            sys.stdout.write(visible(json.dumps(message, ensure_ascii=False)) + "\n")
            sys.stdout.flush()


def _draw(said: Said, group: str, live: Live) -> None:
    watched, screen = Watched(), said.out.screen
    told_at = ticked_at = time.monotonic()
    with _ended_by_sigterm(), Drawing(console=screen, screen=True, auto_refresh=False) as drawing:
        while True:
            if message := live.take(TICK_S):
                watched.take(message)
                told_at = time.monotonic()
            now = datetime.now(UTC)
            if time.monotonic() - ticked_at >= TICK_S:
                watched.tick(now)
                ticked_at = time.monotonic()
            age_s = time.monotonic() - told_at
            drawing.update(
                picture(group, watched, now, live.connected, age_s, screen.width, screen.height), refresh=True
            )


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Lets SIGTERM end the watch as an exception does, so that the terminal is put back."""

    def ended(number: int, frame: object) -> None:
        raise SystemExit(TERMINATED)

    before = signal.signal(signal.SIGTERM, ended)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def picture(
    group: str, watched: Watched, now: datetime, connected: bool, age_s: float, width: int, height: int
) -> Group:
    """What is drawn, at most `width` columns and `height` lines. `age_s` is how long ago the console said anything."""
    head = Group(*(_cut(line, width) for line in (_title(group, watched), *_phase(watched, now))))
    lanes = _lanes(watched, now, width, max(1, height - _LINES_BESIDE_LANES))
    link = Text(_link(connected, age_s), style="" if connected else "bold red")
    return Group(head, lanes, _events(watched, width), link)


def _title(group: str, watched: Watched) -> Text:
    row = watched.group
    title = Text(visible(group), style="bold")
    if row is None:
        return title + Text("  is not there (yet)" if watched.known else "  ...", style="not bold")
    order = f"generation {words(row['generation'])}" if row["group_epoch"] is None else f"epoch {row['group_epoch']}"
    lag = f"lag {words(number_of('total_lag')(row))} ({row['lag_status']})"
    facts = f"  {row['state']}  {order}  members {row['member_count']}  {lag}"
    return title + Text(facts, style="not bold")


def _phase(watched: Watched, now: datetime) -> list[Text]:
    row = watched.group
    if row is None:
        return [Text("")]
    phase, running = row["phase"], row["rebalance"]
    lines = [Text(f"Rebalances: {visible(running['cause_text'])}") if running else Text(f"Phase: {phase['name']}")]
    if phase["waiting_for"]:
        lines.append(Text(_waiting(watched, phase, now), style="yellow"))
    return [*lines, Text("")]


def _waiting(watched: Watched, phase: Row, now: datetime) -> str:
    names = []
    for one in phase["waiting_for"]:
        name = watched.names.get(one["member_id"]) or one["client_id"] or one["member_id"] or "more members"
        left_s = max(0, round((datetime.fromisoformat(one["deadline"]) - now).total_seconds()))
        names.append(f"{visible(name)} (at most {left_s} s: {one['timer'].replace('_', ' ')})")
    more = phase["waiting_count"] - len(names)
    return f"Waits in {phase['name']} for " + ", ".join(names) + (f" and {more} more" if more > 0 else "")


def _lanes(watched: Watched, now: datetime, width: int, most: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("MEMBER", width=_NAME_WIDTH, no_wrap=True, overflow="ellipsis")
    table.add_column("NOW ON THE RIGHT", width=max(8, width - _BESIDE_LANES), no_wrap=True, overflow="crop")
    for head in ("STATE", "PARTS", "LAG", "SILENT"):
        table.add_column(head, justify="left" if head == "STATE" else "right", no_wrap=True, overflow="crop")
    present = {member["member_id"]: member for member in watched.members()}
    rows = sorted({**watched.lanes, **present}, key=lambda one: (_urgency(present.get(one), now), watched.names[one]))
    for member_id in rows[:most]:
        lane = "".join(watched.lanes.get(member_id, ()))[-max(8, width - _BESIDE_LANES) :]
        lane = lane.rjust(max(8, width - _BESIDE_LANES))
        table.add_row(Text(visible(watched.names[member_id])), Text(lane), *_beside(present.get(member_id), now))
    if len(rows) > most:
        table.add_row(Text(f"and {len(rows) - most} more", style="dim"))
    return table


def _urgency(member: Row | None, now: datetime) -> int:
    """Who holds the group up stands first, who is gone last."""
    if member is None:
        return 2
    return 1 if mark_of(member, now) == STABLE else 0


def _beside(member: Row | None, now: datetime) -> list[Text]:
    if member is None:
        return [Text("gone", style="dim")]
    silent_ms = silence_ms(member, now)
    parts = None if member["assignment"] is None else sum(len(part["partitions"]) for part in member["assignment"])
    silent = "-" if silent_ms is None else f"{silent_ms / 1_000:.0f} s"
    state = MARKS[mark_of(member, now)]
    return [Text(state), Text(words(parts)), Text(words(number_of("lag")(member))), Text(silent)]


def _events(watched: Watched, width: int) -> Group:
    told = [f"{event['at'][11:19]}Z  {visible(_told(event, watched.names))}" for event in list(watched.events)[-5:]]
    lines = [Text(""), *(_cut(Text(line), width) for line in told)]
    legend = "  ".join(f"{mark} {meaning}" for mark, meaning in MARKS.items())
    return Group(*lines, _cut(Text(legend, style="dim"), width))


def _told(event: Row, names: Mapping[str, str]) -> str:
    """An event in words: what happened, to whom or because of what."""
    what = str(event["kind"]).replace("_", " ")
    if ended := event.get("rebalance"):
        return f"{what} in {ended['duration_ms']} ms: {ended['cause_text']}"
    why = event.get("cause_text") or names.get(event.get("member_id") or "", "")
    return f"{what}: {why}" if why else what


def _link(connected: bool, age_s: float) -> str:
    if connected:
        return f"live, heard {age_s:.0f} s ago; Ctrl-C ends"
    return f"CUT OFF: this is {age_s:.0f} s old, trying again; Ctrl-C ends"


def _cut(line: Text, width: int) -> Text:
    line.truncate(width, overflow="ellipsis")
    return line
