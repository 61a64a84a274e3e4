"""How the pages write numbers, times, ids and states; scripts get the same words from `words`.

Job: filters and tags of all templates, and the one table of words with their tones.
Rules: what is not known is a dash, never a 0; an id is shown so that every character of it can be seen; times are written
relative to now with the exact moment and its zone beside it. static/js/formats.js does the same in the browser, and a test
compares the two.
Must not know: requests, selectors.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from json import dumps
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from groups import choices
from groups.keys import key_of

register = template.Library()

UNKNOWN = "–"

_UUID = re.compile(r"-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")

MEMBER_STATES = {
    "joining": ("joining", "busy"),
    "missing": ("awaited", "warning"),
    "syncing": ("waits for its assignment", "busy"),
    "unsynced": ("has not asked for its assignment", "busy"),
    "stable": ("stable", "good"),
    "behind": ("is told at its next heartbeat", "busy"),
    "revoking": ("gives partitions up", "busy"),
    "waiting": ("waits for partitions", "busy"),
    "away": ("away", "quiet"),
}

BROKER_STATES = {
    "alive": ("alive", "good"),
    "draining": ("draining", "busy"),
    "dead": ("dead", "bad"),
    "read_only": ("refuses writes", "bad"),
}

CLUSTER_STATES = {"connected": ("connected", "good"), "cut_off": ("cut off", "bad")}

PLAN_STATES = {
    "planned": ("planned", "quiet"),
    "armed": ("armed", "busy"),
    "applying": ("being applied", "busy"),
    "applied": ("applied", "good"),
    "failed": ("failed", "bad"),
    "dropped": ("dropped", "quiet"),
    "expired": ("expired", "quiet"),
    "cancelled": ("cancelled", "warning"),
}

TOPIC_KINDS = {
    "internal": ("internal", "quiet"),
    "gone": ("gone; offsets are left", "warning"),
}

ITEMS_LEFT = {"left": ("Not done", "quiet")}
"""What waits in a job that was cancelled."""

OUTCOMES = {"started": "busy", "done": "good", "partly": "warning", "failed": "bad"}


def _worded(words: Iterable[tuple[Any, Any]], tones: Mapping[Any, str]) -> dict[str, dict[str, str]]:
    return {str(value): {"label": str(label), "tone": tones[value]} for value, label in words}


def _paired(rows: Mapping[str, tuple[str, str]]) -> dict[str, dict[str, str]]:
    return {value: {"label": label, "tone": tone} for value, (label, tone) in rows.items()}


WORDS: dict[str, dict[str, dict[str, str]]] = {
    # States stand in Kafka's own spelling: it is what the command line and the logs say.
    "state": {state.value: {"label": state.value, "tone": tone} for state, tone in choices.STATE_TONES.items()},
    "lag_status": _worded(choices.LagStatus.choices, choices.LAG_STATUS_TONES),
    "lag_state": _worded(choices.LagState.choices, choices.LAG_STATE_TONES),
    "alert": _worded(choices.AlertState.choices, choices.ALERT_STATE_TONES),
    "delivery": _worded(choices.DeliveryState.choices, choices.DELIVERY_STATE_TONES),
    "job": _worded(choices.JobState.choices, choices.JOB_STATE_TONES),
    "item": _worded(choices.ItemState.choices, choices.ITEM_STATE_TONES) | _paired(ITEMS_LEFT),
    "outcome": _worded(choices.Outcome.choices, OUTCOMES),
    "member": _paired(MEMBER_STATES),
    "broker": _paired(BROKER_STATES),
    "cluster": _paired(CLUSTER_STATES),
    "topic": _paired(TOPIC_KINDS),
    "plan": _paired(PLAN_STATES),
}


@register.simple_tag
def words() -> dict[str, dict[str, dict[str, str]]]:
    """Every word with its tone, for scripts: kind to value to `label` and `tone`."""
    return WORDS


@register.simple_tag
@lru_cache(maxsize=1_000)  # a list says the same few words hundreds of times
def word(kind: str, value: str) -> SafeString:
    """A state as a mark and a word; one that nobody knows here is shown as it came."""
    known = WORDS[kind].get(value, {"label": value, "tone": "quiet"})
    return render_to_string("_word.html", {"kind": kind, **known})


@register.filter
def number(value: Any) -> str:
    """A whole number with its thousands apart: 1,204. What is not known is a dash."""
    return UNKNOWN if value is None or value == "" else f"{int(value):,}"


@register.filter
def rate(per_s: float) -> str:
    """Records per second: 1,204/s; small rates keep a digit."""
    return f"{per_s:,.0f}/s" if per_s >= 10 else f"{per_s:.1f}/s"


@register.filter
def duration(milliseconds: float | str | None) -> str:
    """A duration in its largest sensible unit: 250 ms, 1.9 s, 45 s, 12 min, 9 h, 3 d."""
    if milliseconds is None or milliseconds == "":
        return UNKNOWN
    milliseconds = float(milliseconds)
    if milliseconds < 1_000:
        return f"{round(milliseconds)} ms"
    seconds = milliseconds / 1_000
    if seconds < 10:
        return f"{seconds:.1f}".removesuffix(".0") + " s"
    for limit, size, unit in ((120, 1, "s"), (7_200, 60, "min"), (172_800, 3_600, "h")):
        if seconds < limit:
            return f"{int(seconds / size)} {unit}"
    return f"{int(seconds / 86_400)} d"


@register.filter
def seconds(milliseconds: int) -> str:
    """An age in seconds with one digit behind the point: 0.3 s."""
    return f"{milliseconds / 1_000:.1f} s"


@register.simple_tag
def moment(iso: str | None, form: str = "ago") -> SafeString | str:
    """A time: `ago` relative to now, `clock` as hours, minutes and seconds, `full` whole. Scripts turn it into the
    reader's zone; the exact time in UTC is always at hand."""
    if not iso:
        return UNKNOWN
    at = datetime.fromisoformat(iso).astimezone(UTC)
    full = at.strftime("%Y-%m-%d %H:%M:%S UTC")
    texts = {"full": full, "clock": at.strftime("%H:%M:%S UTC"), "ago": _ago(at)}
    return format_html('<time datetime="{}" data-form="{}" title="{}">{}</time>', iso, form, full, texts[form])


def _ago(at: datetime) -> str:
    past = (datetime.now(UTC) - at).total_seconds() * 1_000
    if past < 0:
        return f"in {duration(-past)}"
    return "now" if past < 1_000 else f"{duration(int(past / 1_000) * 1_000)} ago"


@register.filter
def visible(id_: str | None) -> str:
    """An id with everything in it to be seen: control characters as their pictures, spaces at its ends as open boxes."""
    if id_ is None:
        return UNKNOWN
    if id_ == "":
        return "(the empty id)"
    # What is printable needs no picture: most ids, as a whole.
    shown = id_ if id_.isprintable() else "".join(_picture(mark) for mark in id_)
    inner = shown.strip(" ")
    before = len(shown) - len(shown.lstrip(" "))
    return "␣" * before + inner + "␣" * (len(shown) - before - len(inner))


@register.filter
def visible_lines(text: str | None) -> str:
    """A longer text with everything in it to be seen, in the lines that it has."""
    lines = (text or "").split("\n")
    return "\n".join("".join(_picture(mark) for mark in line) for line in lines)


_SEEN = {"\n": "↵", "\r": "␍", "\t": "⇥"}


def _picture(mark: str) -> str:
    code = ord(mark)
    if mark in _SEEN:
        return _SEEN[mark]
    # Marks that turn the direction of text or are invisible would let one id look like another.
    return (
        f"⟨{code:04X}⟩" if unicodedata.category(mark) in ("Cc", "Cf", "Cs", "Zl", "Zp") and mark != "\u200d" else mark
    )


@register.filter
def member_name(member_id: str | None) -> str:
    """What an operator knows a member by when only its id is left: the id without the random end that Kafka gives it."""
    return "nobody" if member_id is None else visible(_UUID.sub("", member_id) or member_id)


@register.filter
def name_of(member: Mapping[str, Any]) -> str:
    """What an operator knows a member by: its instance, else its client, else its member id."""
    return visible(member["instance_id"] or member["client_id"] or member["member_id"])


@register.filter
def assignment(parts: Iterable[Mapping[str, Any]] | None) -> str:
    """An assignment in one line: orders 0–2; refunds 1."""
    return "; ".join(f"{visible(part['topic'])} {ranges(part['partitions'])}" for part in parts or ())


WAITS_SHOWN = 3
"""Members that another one waits for, by name."""


@register.filter
def steps(member: Mapping[str, Any]) -> list[str]:
    """What a member of a consumer group has still to do, a line each."""
    lines = [f"gives up {assignment(member['gives_up'])}"] if member["gives_up"] else []
    waits = member["waits_for"][:WAITS_SHOWN]
    lines += [f"waits for {assignment([part])} from {visible(part['name'])}" for part in waits]
    if (more := len(member["waits_for"]) - WAITS_SHOWN) > 0:
        lines.append(f"and for {more} more")
    if member["gets"]:
        lines.append(f"gets {assignment(member['gets'])} at its next heartbeat")
    return lines


@register.filter
def epoch_of(member: Mapping[str, Any], group: Mapping[str, Any]) -> str:
    """The epoch that a member of a consumer group is at, against the group's; nothing for one that is away."""
    newest = group["group_epoch"]
    if newest is None or member["epoch"] < 0:
        return ""
    return f"epoch {member['epoch']}" if member["epoch"] == newest else f"epoch {member['epoch']} of {newest}"


@register.filter
def mixed(group: Mapping[str, Any]) -> str:
    """That members of both protocols are in a consumer group; nothing where they are not."""
    classic = group["classic_member_count"]
    if not classic:
        return ""
    return f"{number(classic)} of {number(group['member_count'])} members on the classic protocol"


@register.filter
def ranges(partitions: Iterable[int]) -> str:
    """Partition numbers as ranges: 0–2, 5, 7–8."""
    runs: list[list[int]] = []
    for partition in sorted(partitions):
        if runs and partition == runs[-1][1] + 1:
            runs[-1][1] = partition
        else:
            runs.append([partition, partition])
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in runs)


@register.filter
def moves(moved: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Moved partitions by topic and by who gave and who took them: `topic, partitions, from, to, without_ms` (the longest)."""
    grouped: dict[tuple[str, str, str], dict[str, Any]] = {}
    for one in moved:
        row = {"topic": one["topic"], "from": one["from"], "to": one["to"], "partitions": [], "without_ms": None}
        row = grouped.setdefault((one["topic"], one["from"] or "", one["to"] or ""), row)
        row["partitions"].append(one["partition"])
        known = [ms for ms in (row["without_ms"], one.get("without_ms")) if ms is not None]
        row["without_ms"] = max(known, default=None)
    return [grouped[key] for key in sorted(grouped)]


@register.filter
def names_in(rebalance: Mapping[str, Any]) -> dict[str, str]:
    """Member id to name, of those whose name a rebalance tells: ids of KIP-848 say nothing to anybody."""
    return {part["member_id"]: part["name"] for part in rebalance["parts"] if part["name"]}


@register.filter
def named(member_id: str | None, names: Mapping[str, str]) -> str:
    """A member by its name, else as its id has it."""
    return visible(names[member_id]) if member_id in names else member_name(member_id)


@register.filter
def shares(phases: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Phases with where each begins and how wide it is, in per cent of the whole: for a bar."""
    rows = list(phases)
    whole = sum(phase["duration_ms"] for phase in rows) or 1
    begun, placed = 0.0, []
    for phase in rows:
        width = 100 * phase["duration_ms"] / whole
        placed.append({**phase, "x": f"{begun:.2f}", "width": f"{width:.2f}"})
        begun += width
    return placed


@register.simple_tag
def topic_url(cluster: str, topic: str) -> str:
    """The page of a topic; nothing for a name that no topic can have, which an offset may still carry."""
    try:
        return reverse("topic", kwargs={"cluster": cluster, "topic": topic})
    except NoReverseMatch:
        return ""


@register.simple_tag
def group_url(cluster: str, group_id: str) -> str:
    """The page of a group of any id."""
    return reverse("group", kwargs={"cluster": cluster, "group": key_of(group_id)})


@register.filter
def humane(name: str) -> str:
    """A name of the API as words: offsets_reset, offsets reset."""
    return name.replace("_", " ")


@register.filter
def json(value: Any) -> str:
    """A value as JSON, for people to read."""
    return UNKNOWN if value is None else dumps(value, ensure_ascii=False)


@register.filter
def as_text(value: Any) -> str:
    """Any value as text, so that it can be made visible."""
    return str(value)


@register.filter
def share_of(part: int | None, whole: int) -> str:
    """A part of a whole in per cent, for a bar; nothing for a part that is not known."""
    return f"{min(100, 100 * (part or 0) / max(1, whole)):.1f}"


@register.filter
def twin(row: Mapping[str, Any], name: str) -> Any:
    """A number of a row, exact also where JSON carries it as text beside."""
    return row.get(f"{name}_str", row.get(name))
