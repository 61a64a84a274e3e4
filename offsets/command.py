"""The command of Kafka's own tool that does what a plan does, to be copied.

Job: a request as a shell command.
Rules: every word is quoted for a shell, and what cannot be seen is written as an escape: a terminal would obey it when the
command is pasted. A plan whose offsets come from elsewhere is a file, and the file's text stands beside the command.
Must not know: offsets of the cluster.
"""

from __future__ import annotations

import shlex

from offsets.choices import Strategy
from offsets.requests import ResetRequest, Scope

OFFSETS_FILE = "offsets.csv"


def reset_command(*, bootstrap: str, group_id: str, request: ResetRequest) -> str:
    """`kafka-consumer-groups … --reset-offsets … --execute`."""
    words = ["kafka-consumer-groups", "--bootstrap-server", bootstrap, "--group", group_id, "--reset-offsets"]
    words += _strategy(request)
    if not _from_file(request):
        words += _scope(request.scope)
    return " ".join(map(_quoted, [*words, "--execute"]))


def _quoted(word: str) -> str:
    """A word for a shell; one with marks that cannot be seen in the form $'…', which bash, zsh and ksh read."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, word)) + "'"


def _escaped(mark: str) -> str:
    if mark in "\\'":
        return f"\\{mark}"
    return mark if mark.isprintable() else "".join(f"\\x{byte:02x}" for byte in mark.encode())


def _from_file(request: ResetRequest) -> bool:
    return request.strategy in (Strategy.CSV, Strategy.GROUP)


def _strategy(request: ResetRequest) -> list[str]:
    value = request.value
    if _from_file(request):
        return ["--from-file", OFFSETS_FILE]
    if request.strategy == Strategy.TIMESTAMP:
        return ["--to-datetime", value.isoformat(timespec="milliseconds")]
    if request.strategy == Strategy.DURATION:
        return ["--by-duration", str(request.raw["value"])]
    if request.strategy == Strategy.OFFSET:
        return ["--to-offset", str(value)]
    if request.strategy == Strategy.SHIFT:
        return ["--shift-by", str(value)]
    return [f"--to-{request.strategy.value}"]


def _scope(scope: Scope) -> list[str]:
    if scope is None:
        return ["--all-topics"]
    words = []
    for topic, partitions in scope:
        chosen = "" if partitions is None else ":" + ",".join(map(str, partitions))
        words += ["--topic", topic + chosen]
    return words
