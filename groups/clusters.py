"""The Kafka clusters that the console knows, and how each of them is reached and read.

Job: the registry; one frozen row per cluster.
Rules: the embedded cluster is called `local` and is always there; names are short words, because they stand in
addresses and Redis keys.
Must not know: environment variables (settings hand them in), Redis, brokers' answers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

LOCAL = "local"

FEED, TAIL, POLL = "feed", "tail", "poll"
"""How a cluster is read: our broker pushes; an observer tails `__consumer_offsets`; an observer polls the admin API."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_FIELDS = {"bootstrap", "read", "read_only", "librdkafka", "schema_registry"}


class BadClusters(ValueError):
    """The description of the clusters cannot be used; the message says where and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """One cluster. `bootstrap` is `host:port,host:port`; `librdkafka` holds further settings of that library, such as
    `sasl.mechanism`; `source` says how it is read: feed, tail or poll; `schema_registry` is an address, empty for none."""

    name: str
    bootstrap: str
    source: str = FEED
    read_only: bool = False
    librdkafka: Mapping[str, str] = field(default_factory=dict, hash=False)
    schema_registry: str = field(default="", repr=False)


def clusters_from(
    *, text: str, local_bootstrap: str, read_only: Iterable[str], local_registry: str = ""
) -> dict[str, Cluster]:
    """The registry: `local` and whatever `text` (JSON, or the path of a file with it) names beside it.

    Raises BadClusters for what is no such description, and for a read-only name that no cluster has.
    """
    frozen = set(read_only)
    local = Cluster(
        name=LOCAL,
        bootstrap=local_bootstrap,
        read_only=LOCAL in frozen,
        schema_registry=_registry(LOCAL, local_registry),
    )
    rows = {LOCAL: local}
    for name, described in _described(text).items():
        rows[name] = _cluster(name, described, name in frozen)
    if strange := frozen - rows.keys():
        raise BadClusters(f"no cluster is called {', '.join(sorted(strange))}")
    return rows


def clusters() -> dict[str, Cluster]:
    """Every cluster by name, `local` first."""
    return settings.KAAS_CLUSTERS


def _described(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        value = json.loads(text if text.lstrip().startswith("{") else Path(text).read_text())
    except OSError as problem:
        raise BadClusters(f"the file of clusters cannot be read: {problem}") from problem
    except json.JSONDecodeError as problem:
        raise BadClusters(f"the clusters are not JSON: {problem}") from problem
    if not isinstance(value, dict):
        raise BadClusters("the clusters are an object of name to description")
    return value


def _cluster(name: str, described: Any, frozen: bool) -> Cluster:
    if not _NAME.fullmatch(name) or name == LOCAL:
        raise BadClusters(f"{name!r} is no name for a cluster: small letters, digits, _ and -, and not {LOCAL!r}")
    if not isinstance(described, dict) or described.keys() - _FIELDS:
        raise BadClusters(f"{name}: expected an object with {', '.join(sorted(_FIELDS))}" + _named(described))
    bootstrap, source = described.get("bootstrap"), described.get("read", POLL)
    more = described.get("librdkafka", {})
    if not isinstance(bootstrap, str) or not bootstrap:
        raise BadClusters(f"{name}: bootstrap is host:port, more than one separated by commas")
    if source not in (TAIL, POLL):
        raise BadClusters(f"{name}: read is {TAIL!r} or {POLL!r}")
    if not isinstance(more, dict) or not all(isinstance(value, str) for value in more.values()):
        raise BadClusters(f"{name}: librdkafka is an object of setting to text")
    read_only = described.get("read_only", False)
    if not isinstance(read_only, bool):
        raise BadClusters(f"{name}: read_only is true or false")
    return Cluster(
        name=name,
        bootstrap=bootstrap,
        source=source,
        read_only=read_only or frozen,
        librdkafka=more,
        schema_registry=_registry(name, described.get("schema_registry", "")),
    )


def _registry(name: str, url: Any) -> str:
    """The address of a schema registry, empty for none. The message does not repeat it: it may hold a password."""
    parts = urlsplit(url) if isinstance(url, str) else None
    if url == "" or (parts is not None and parts.scheme in ("http", "https") and parts.hostname):
        return url
    raise BadClusters(f"{name}: the schema registry's address begins with http:// or https://")


def _named(described: Any) -> str:
    return f", not {', '.join(sorted(described.keys() - _FIELDS))}" if isinstance(described, dict) else ""
