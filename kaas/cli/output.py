"""What commands print: tables for people, JSON and CSV for scripts.

Job: rows and columns to standard output, sentences to standard error.
Rules: JSON is what the API answered; a table shows the same rows. On a terminal a table fits its width, elsewhere nothing
is cut. Colours come on a terminal only (and never with NO_COLOR), and no meaning hangs on them. What a terminal would
obey, and what a spreadsheet would run as a formula, is disarmed.
Must not know: requests.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

Format = Literal["table", "json", "csv"]
Row = Mapping[str, Any]

FORMATS: tuple[Format, ...] = ("table", "json", "csv")

_OBEYED = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
"""Control characters, marks that turn the direction of text or have no width, and halves of characters."""

_NAME_WIDTH = 24

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_STYLES = {
    **dict.fromkeys(("Stable", "ok", "done", "applied"), "green"),
    **dict.fromkeys(("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "warn"), "yellow"),
    **dict.fromkeys(("stalled", "stopped", "rewind", "failed", "Dead"), "red"),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its heading, its value in a row (by name, or what a function says), and whether it holds numbers."""

    head: str
    value: str | Callable[[Row], Any] = ""
    number: bool = False

    def of(self, row: Row) -> Any:
        """The value in a row, null where there is none."""
        if callable(self.value):
            return self.value(row)
        return row.get(self.value or self.head.lower().replace(" ", "_"))


def visible(text: str) -> str:
    """A text in which nothing hides and nothing commands a terminal: such characters stand as escapes."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def words(value: Any) -> str:
    """A value as a cell shows it."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(words, value))
    return visible(str(value))


class Output:
    """Prints in one format."""

    def __init__(self, form: Format = "table") -> None:
        self.format = form
        self.screen = Console(highlight=False, markup=False, emoji=False)

    def rows(self, document: Any, rows: Iterable[Row], columns: Sequence[Column], title: str = "") -> None:
        """Prints rows; as JSON the whole document in their place. `title` stands above a table only."""
        if self.format == "json":
            self.json(document)
        elif self.format == "csv":
            self._csv(rows, columns)
        else:
            self._table(list(rows), columns, title)

    def facts(self, facts: Mapping[str, Any]) -> None:
        """Prints names with their values, in a table's stead."""
        if self.format == "table":
            width = max(map(len, facts))
            for name, value in facts.items():
                self._line(Text(f"{name:<{width}}  ", style="bold") + _cell(value))

    def json(self, document: Any) -> None:
        """Prints JSON."""
        lines = json.dumps(document, indent=2, ensure_ascii=False).split("\n")
        sys.stdout.write("\n".join(map(visible, lines)) + "\n")

    def say(self, sentence: str) -> None:
        """Tells a person something that is no part of the output."""
        sys.stderr.write(visible(sentence) + "\n")

    def _csv(self, rows: Iterable[Row], columns: Sequence[Column]) -> None:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow([column.head.lower().replace(" ", "_") for column in columns])
        writer.writerows([_safe(column.of(row)) for column in columns] for row in rows)

    def _table(self, rows: list[Row], columns: Sequence[Column], title: str) -> None:
        table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0), show_edge=False)
        first, *others = columns
        # The first column names the row: it is folded, never cut, and never squeezed away by the others.
        table.add_column(first.head.upper(), overflow="fold", min_width=min(_NAME_WIDTH, self.screen.width // 2))
        for column in others:
            side: Literal["right", "left"] = "right" if column.number else "left"
            table.add_column(column.head.upper(), justify=side, overflow="ellipsis", no_wrap=True)
        for row in rows:
            table.add_row(*(_cell(column.of(row)) for column in columns))
        if title:
            self._line(Text(f"\n{title}", style="bold"))
        if not self.screen.is_terminal:
            self.screen.width = max(
                1, Measurement.get(self.screen, self.screen.options.update(width=10**6), table).maximum
            )
        with self.screen.capture() as drawn:
            self.screen.print(table)
        for line in drawn.get().splitlines():
            sys.stdout.write(line.rstrip() + "\n")

    def _line(self, text: Text) -> None:
        self.screen.print(text, soft_wrap=True)


def _cell(value: Any) -> Text:
    return Text(words(value), style=_STYLES.get(str(value), ""))


def _safe(value: Any) -> Any:
    """A cell for spreadsheets: numbers stay numbers, null is empty, a formula gets a quote in front."""
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return "" if value is None else value
    text = words(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
