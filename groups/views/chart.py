"""A chart of lag over time as SVG: numbers to coordinates, nothing else.

Job: points to a line, the area below it, the times of which nothing is known, and a label for each point.
Rules: pure. The drawing is WIDTH by HEIGHT units and is stretched by the page. A line joins only neighbours that both have a
number and lie no further apart than samples do; everything else is a hole, and holes are drawn as such.
Must not know: requests, templates, where points come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

WIDTH, HEIGHT = 1_000, 160

_NEIGHBOURS = 2.5
"""How many usual distances two points may lie apart and still be neighbours: one sample may be late or missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Lag (records, null where not known) at a moment (milliseconds since 1970)."""

    at: int
    lag: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A vertical strip: where it begins and how wide it is, with what a reader is told over it."""

    x: float
    width: float
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What a template draws. `line` and `area` are SVG path data, `top` is the number at the upper edge."""

    line: str
    area: str
    holes: tuple[Bar, ...]
    labels: tuple[Bar, ...]
    top: int
    width: int = WIDTH
    height: int = HEIGHT


def chart(points: Sequence[Point], begin: int, end: int, step_ms: int) -> Chart:
    """The chart of the time from `begin` to `end`, whose points usually lie `step_ms` apart."""
    known = [point for point in points if point.lag is not None]
    top = ceiling(max((point.lag or 0 for point in known), default=0))
    runs = _runs(points, step_ms * _NEIGHBOURS)

    def x(at: int) -> float:
        return round(min(1.0, max(0.0, (at - begin) / (end - begin))) * WIDTH, 2)

    def y(lag: int) -> float:
        return round(HEIGHT - lag / top * HEIGHT, 2)

    places = [[(x(point.at), y(point.lag or 0)) for point in run] for run in runs]
    return Chart(
        line=" ".join(map(_line, places)),
        area=" ".join(f"{_line(run)} L{run[-1][0]} {HEIGHT} L{run[0][0]} {HEIGHT} Z" for run in places),
        holes=tuple(_holes(places, step_ms * _NEIGHBOURS / (end - begin) * WIDTH)),
        labels=tuple(_labels([(x(point.at), _text(point)) for point in points])),
        top=top,
    )


def ceiling(largest: int) -> int:
    """The round number (1, 2 or 5 and zeros) at or above this one, at least 10: a lag of three is no full chart."""
    size = 10
    while True:
        for number in (size, 2 * size, 5 * size):
            if number >= largest:
                return number
        size *= 10


def _runs(points: Sequence[Point], furthest: float) -> list[list[Point]]:
    """The points with a number, cut wherever something is missing between two of them."""
    runs: list[list[Point]] = []
    before: Point | None = None
    for point in points:
        if point.lag is not None:
            joined = before is not None and before.lag is not None and point.at - before.at <= furthest
            if joined:
                runs[-1].append(point)
            else:
                runs.append([point])
        before = point
    return runs


def _line(run: Sequence[tuple[float, float]]) -> str:
    """Path data; a point alone is drawn as a line of no length, which has round ends."""
    (first_x, first_y), *rest = run
    return f"M{first_x} {first_y} " + (" ".join(f"L{x} {y}" for x, y in rest) or "h0")


def _holes(runs: Sequence[Sequence[tuple[float, float]]], narrowest: float) -> list[Bar]:
    """The strips between, before and after the runs that are wider than what lies between neighbours."""
    edges = [0.0, *(edge for run in runs for edge in (run[0][0], run[-1][0])), float(WIDTH)]
    pairs = zip(edges[::2], edges[1::2], strict=True)
    return [Bar(x=left, width=round(right - left, 2)) for left, right in pairs if right - left > narrowest]


def _labels(places: Sequence[tuple[float, str]]) -> list[Bar]:
    """A strip for each point, from half way to the point before it to half way to the next one."""
    found = []
    for number, (x, text) in enumerate(places):
        left = (places[number - 1][0] + x) / 2 if number else 0.0
        right = (places[number + 1][0] + x) / 2 if number + 1 < len(places) else float(WIDTH)
        found.append(Bar(x=round(left, 2), width=round(max(0.0, right - left), 2), text=text))
    return found


def _text(point: Point) -> str:
    at = datetime.fromtimestamp(point.at / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return f"{at}: " + ("not known" if point.lag is None else f"{point.lag:,} records wait")
