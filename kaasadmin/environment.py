"""Every environment variable of the product: its name, its default, what it changes.

Job: the one list that settings are made from and that docs/OPERATIONS.md is generated from.
Rules: nothing else in the project reads `os.environ`; a value that makes no sense ends the start and names the variable.
Must not know: Django.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One variable: `default` is the text that stands for an unset or empty one, `meaning` is one or two sentences."""

    name: str
    default: str
    meaning: str


class BadVariable(Exception):
    """A variable has a value that cannot be used; the message names both and says what is expected."""

    def __init__(self, name: str, value: str, expected: str) -> None:
        super().__init__(f"{name}={value!r} cannot be used: expected {expected}")


VARIABLES = (
    Variable(
        name="KAAS_DATA",
        default="./data",
        meaning="Folder of everything durable: the broker's files, the SQLite database, the secret key, the embedded "
        "Valkey's files. Two copies of the product need two folders.",
    ),
    Variable(name="KAAS_WEB_HOST", default="127.0.0.1", meaning="Address that the web process listens on."),
    Variable(name="KAAS_WEB_PORT", default="8000", meaning="Port of the console, its API and its sockets."),
    Variable(name="KAAS_BROKER_PORT", default="9092", meaning="Port of the embedded Kafka broker on 127.0.0.1."),
    Variable(
        name="KAAS_BROKER_BOOTSTRAP",
        default="",
        meaning="Where the console reaches the broker of the cluster `local`, as `host:port,host:port`; unset: "
        "127.0.0.1 and KAAS_BROKER_PORT.",
    ),
    Variable(
        name="KAAS_BROKER_SET",
        default="",
        meaning="Kafka settings of the embedded broker, as `name=value name=value`.",
    ),
    Variable(
        name="REDIS_URL",
        default="",
        meaning="Redis or Valkey server for the feed, the sockets and the tasks; unset: the embedded Valkey's unix "
        "socket in the data folder.",
    ),
    Variable(
        name="DATABASE_URL",
        default="",
        meaning="Database of users, history, plans and audit rows, as `postgres://user:password@host/name`; unset: "
        "SQLite in the data folder.",
    ),
    Variable(
        name="KAAS_ADMIN_PASSWORD",
        default="",
        meaning="Password of the first administrator `admin`; unset: one is made and printed once.",
    ),
    Variable(
        name="KAAS_SECRET_KEY",
        default="",
        meaning="Key that signs sessions; unset: made once and kept in the data folder. Web processes on several "
        "hosts need the same one.",
    ),
    Variable(
        name="KAAS_CLUSTERS",
        default="",
        meaning="Kafka clusters beside the embedded one: JSON, or the path of a file that holds it. An object of "
        'name to {"bootstrap": "host:port", "read": "tail" or "poll", "read_only": false, "librdkafka": {…}, '
        '"schema_registry": "http://…"}.',
    ),
    Variable(
        name="KAAS_SCHEMA_REGISTRY",
        default="",
        meaning="Schema registry of the cluster `local`, as `http://host:port` or `https://user:password@host`: records "
        "in Avro and Protobuf are then shown as JSON.",
    ),
    Variable(
        name="KAAS_SCHEMA_REGISTRY_TIMEOUT_MS",
        default="3000",
        meaning="How long a page of records waits for a schema registry; then it shows bytes and says why.",
    ),
    Variable(
        name="KAAS_READ_ONLY",
        default="",
        meaning="Clusters that the console only shows, by name, separated by commas: every write is refused.",
    ),
    Variable(
        name="KAAS_KAFKA_TIMEOUT_MS",
        default="10000",
        meaning="How long the console waits for a Kafka broker before it answers 504.",
    ),
    Variable(
        name="KAAS_JOB_PARTITIONS",
        default="1000",
        meaning="A reset of more partitions than this is applied by the page as a job with progress and cancel. So many are "
        "one commit, which is over before a job would have begun.",
    ),
    Variable(
        name="KAAS_ALLOWED_HOSTS",
        default="localhost,127.0.0.1,[::1]",
        meaning="Host names under which the console answers, separated by commas.",
    ),
    Variable(
        name="KAAS_TRUSTED_ORIGINS",
        default="",
        meaning="Further origins whose pages may write and open sockets, as `https://host`, separated by commas; "
        "needed when a proxy changes the Host header.",
    ),
    Variable(
        name="KAAS_BASE_PATH",
        default="",
        meaning="Path under which a proxy shows the console, as `/kafka`.",
    ),
    Variable(
        name="KAAS_TRUSTED_PROXIES",
        default="127.0.0.1,::1",
        meaning="Addresses and networks of proxies, separated by commas, whose X-Forwarded-For, X-Forwarded-Proto and "
        "X-Forwarded-Host are believed.",
    ),
    Variable(
        name="KAAS_API_PER_MINUTE",
        default="6000",
        meaning="How many API requests each token, and each signed-in user, may send in a minute before it is told to "
        "wait (429).",
    ),
    Variable(
        name="KAAS_OIDC_ISSUER",
        default="",
        meaning="OpenID provider with which people sign in, as `https://login.example/realm`; it sends them back to "
        "`/login/openid/return/`. Unset: names and passwords only. HTTP is taken for a provider on this machine alone.",
    ),
    Variable(name="KAAS_OIDC_CLIENT_ID", default="", meaning="The console's client id at that provider."),
    Variable(
        name="KAAS_OIDC_CLIENT_SECRET", default="", meaning="Its secret; unset: a public client (PKCE is always used)."
    ),
    Variable(name="KAAS_OIDC_NAME", default="OpenID", meaning="What the sign-in page calls the provider."),
    Variable(
        name="KAAS_OIDC_SCOPES", default="openid profile email", meaning="Scopes to ask for; `openid` is one of them."
    ),
    Variable(
        name="KAAS_OIDC_ROLE_CLAIM", default="groups", meaning="The claim, a word or a list, that roles come from."
    ),
    Variable(
        name="KAAS_OIDC_ROLES",
        default="",
        meaning="Which value of that claim stands for which Django group, as `kafka-admins=admin,staff=viewer,*=viewer`; "
        "`*` is whoever the provider knows. Somebody with none of them does not get in.",
    ),
    Variable(
        name="KAAS_HTTPS",
        default="0",
        meaning="1: the console is reached over HTTPS, by whatever way. Cookies are marked secure, and browsers are told to "
        "come over HTTPS only (HSTS).",
    ),
    Variable(
        name="KAAS_HISTORY_DAYS",
        default="30",
        meaning="How long rebalances and offsets kept for undo stay in the database, in days.",
    ),
    Variable(
        name="KAAS_LAG_KEPT",
        default="10s:1h 1m:1d 15m:14d",
        meaning="How lag over time is sampled and thinned out: `step:kept` pairs, the finest first, each with s, m, h or d.",
    ),
    Variable(
        name="KAAS_LAG_ROWS",
        default="500000",
        meaning="Database rows that samples of lag may take, sixty samples each. A group that commits all the time takes some "
        "50, and so does a topic; beyond this the finest and oldest samples go first.",
    ),
    Variable(
        name="KAAS_WEBHOOK_PRIVATE",
        default="0",
        meaning="1: webhooks of alerts may go to loopback and private addresses.",
    ),
    Variable(
        name="KAAS_LOG_FORMAT",
        default="console",
        meaning="`console` for people, `json` for machines.",
    ),
    Variable(name="KAAS_LOG_LEVEL", default="INFO", meaning="DEBUG, INFO, WARNING or ERROR."),
    Variable(
        name="KAAS_DEBUG",
        default="0",
        meaning="1: Django's debug pages. Never where strangers reach it.",
    ),
)

_DEFAULTS = {variable.name: variable.default for variable in VARIABLES}
_LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The variables as typed values; texts that name nothing are empty, `data` is absolute."""

    data: Path
    web_host: str
    web_port: int
    broker_port: int
    broker_bootstrap: str
    broker_set: str
    redis_url: str
    database_url: str
    admin_password: str
    secret_key: str
    clusters: str
    schema_registry: str
    schema_registry_timeout_ms: int
    read_only: tuple[str, ...]
    kafka_timeout_ms: int
    job_partitions: int
    allowed_hosts: tuple[str, ...]
    trusted_origins: tuple[str, ...]
    base_path: str
    trusted_proxies: tuple[str, ...]
    api_per_minute: int
    oidc_issuer: str
    oidc_client_id: str
    oidc_client_secret: str
    oidc_name: str
    oidc_scopes: str
    oidc_role_claim: str
    oidc_roles: tuple[tuple[str, str], ...]
    https: bool
    history_days: int
    lag_kept: tuple[tuple[int, int], ...]
    lag_rows: int
    webhook_private: bool
    log_format: str
    log_level: str
    debug: bool


def environment(values: Mapping[str, str] | None = None) -> Environment:
    """Reads the variables, from `os.environ` unless other values are given.

    Raises BadVariable for the first one that cannot be used.
    """
    given = os.environ if values is None else values

    def text(name: str) -> str:
        return given.get(name, "").strip() or _DEFAULTS[name]

    broker_port = _number(text, "KAAS_BROKER_PORT", 1, 65_535)
    return Environment(
        data=Path(text("KAAS_DATA")).expanduser().resolve(),
        web_host=text("KAAS_WEB_HOST"),
        web_port=_number(text, "KAAS_WEB_PORT", 1, 65_535),
        broker_port=broker_port,
        broker_bootstrap=text("KAAS_BROKER_BOOTSTRAP") or f"127.0.0.1:{broker_port}",
        broker_set=text("KAAS_BROKER_SET"),
        redis_url=text("REDIS_URL"),
        database_url=text("DATABASE_URL"),
        admin_password=text("KAAS_ADMIN_PASSWORD"),
        secret_key=text("KAAS_SECRET_KEY"),
        clusters=text("KAAS_CLUSTERS"),
        schema_registry=text("KAAS_SCHEMA_REGISTRY"),
        schema_registry_timeout_ms=_number(text, "KAAS_SCHEMA_REGISTRY_TIMEOUT_MS", 10, 60_000),
        read_only=_listed(text("KAAS_READ_ONLY")),
        kafka_timeout_ms=_number(text, "KAAS_KAFKA_TIMEOUT_MS", 100, 600_000),
        job_partitions=_number(text, "KAAS_JOB_PARTITIONS", 1, 1_000_000),
        allowed_hosts=_listed(text("KAAS_ALLOWED_HOSTS")),
        trusted_origins=_listed(text("KAAS_TRUSTED_ORIGINS")),
        base_path=_base_path(text("KAAS_BASE_PATH")),
        trusted_proxies=_networks(text, "KAAS_TRUSTED_PROXIES"),
        api_per_minute=_number(text, "KAAS_API_PER_MINUTE", 1, 1_000_000),
        oidc_issuer=_issuer(text, "KAAS_OIDC_ISSUER"),
        oidc_client_id=text("KAAS_OIDC_CLIENT_ID"),
        oidc_client_secret=text("KAAS_OIDC_CLIENT_SECRET"),
        oidc_name=text("KAAS_OIDC_NAME"),
        oidc_scopes=text("KAAS_OIDC_SCOPES"),
        oidc_role_claim=text("KAAS_OIDC_ROLE_CLAIM"),
        oidc_roles=_pairs(text, "KAAS_OIDC_ROLES"),
        https=_flag(text, "KAAS_HTTPS"),
        history_days=_number(text, "KAAS_HISTORY_DAYS", 1, 36_500),
        lag_kept=_kept(text, "KAAS_LAG_KEPT"),
        lag_rows=_number(text, "KAAS_LAG_ROWS", 1_000, 1_000_000_000),
        webhook_private=_flag(text, "KAAS_WEBHOOK_PRIVATE"),
        log_format=_choice(text, "KAAS_LOG_FORMAT", ("console", "json")),
        log_level=_choice(text, "KAAS_LOG_LEVEL", _LOG_LEVELS),
        debug=_flag(text, "KAAS_DEBUG"),
    )


def _listed(value: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _networks(text, name: str) -> tuple[str, ...]:
    value = text(name)
    try:
        return tuple(str(ip_network(part)) for part in _listed(value))
    except ValueError:
        raise BadVariable(name, value, "addresses and networks as 10.0.0.1 and 10.0.0.0/8") from None


def _issuer(text, name: str) -> str:
    value = text(name)
    if not value:
        return value
    parts = urlsplit(value)
    is_here = parts.scheme == "http" and parts.hostname in _THIS_MACHINE
    if not parts.hostname or not (parts.scheme == "https" or is_here):
        raise BadVariable(name, value, "an address as https://login.example")
    if not text("KAAS_OIDC_CLIENT_ID"):
        raise BadVariable("KAAS_OIDC_CLIENT_ID", "", "the client id at the provider that KAAS_OIDC_ISSUER names")
    if not text("KAAS_OIDC_ROLES"):
        raise BadVariable("KAAS_OIDC_ROLES", "", "who gets in, as claim=group; without it nobody would")
    return value


def _pairs(text, name: str) -> tuple[tuple[str, str], ...]:
    value = text(name)
    pairs = tuple(tuple(side.strip() for side in part.rsplit("=", 1)) for part in _listed(value))
    if not all(len(pair) == 2 and all(pair) for pair in pairs):
        raise BadVariable(name, value, "pairs as claim=group,claim=group")
    return pairs


def _number(text, name: str, lowest: int, highest: int) -> int:
    value = text(name)
    if not value.isdecimal() or not lowest <= int(value) <= highest:
        raise BadVariable(name, value, f"a whole number from {lowest} to {highest}")
    return int(value)


def _flag(text, name: str) -> bool:
    return _choice(text, name, ("0", "1")) == "1"


def _choice(text, name: str, choices: tuple[str, ...]) -> str:
    value = text(name)
    if value not in choices:
        raise BadVariable(name, value, "one of " + ", ".join(choices))
    return value


_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def _kept(text, name: str) -> tuple[tuple[int, int], ...]:
    """Pairs of milliseconds: a step, and how long samples of it are kept."""
    value = text(name)
    pairs = re.findall(r"(\d+)([smhd]):(\d+)([smhd])(?:\s+|$)", value)
    kept = tuple((int(a) * _UNITS_MS[u], int(b) * _UNITS_MS[v]) for a, u, b, v in pairs)
    whole = " ".join(f"{a}{u}:{b}{v}" for a, u, b, v in pairs) == " ".join(value.split())
    grows = all(finer[0] < step[0] and finer[1] < step[1] for finer, step in pairwise(kept))
    if not kept or not whole or not grows or any(not 0 < step < until for step, until in kept):
        raise BadVariable(name, value, "pairs as 10s:1h 1m:1d, each with a larger step that is kept longer")
    return kept


def _base_path(value: str) -> str:
    path = value.strip("/")
    if any(mark in path for mark in "?#\\ ") or ".." in path.split("/"):
        raise BadVariable("KAAS_BASE_PATH", value, "a path as /kafka")
    return f"/{path}" if path else ""
