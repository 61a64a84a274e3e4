"""python -m kaas.broker.users add|password|remove NAME [--data DIR], or list: who may sign in at SASL listeners.

A password is asked for twice on a terminal, and is otherwise the first line of standard input; it never stands on the command
line. A broker that runs on the same folder takes the change within a second or so.
"""

from __future__ import annotations

import argparse
import getpass
import sys
from collections.abc import Callable
from pathlib import Path

from kaas.broker.security import credentials
from kaas.broker.security.credentials import BadUser
from kaas.broker.security.scram import ITERATIONS
from kaas.storage.files import CLUSTER_FOLDER

LEAST_ITERATIONS = 4_096


def arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m kaas.broker.users", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, meaning in (
        ("add", "a new user"),
        ("password", "another password for a user"),
        ("remove", "a user who may not sign in any more"),
        ("list", "the names of all users"),
    ):
        command = commands.add_parser(name, help=meaning)
        command.add_argument("--data", type=Path, default=Path("data"), help="the broker's data folder")
        if name != "list":
            command.add_argument("name", help="name of the user; the principal is User:name")
        if name in ("add", "password"):
            command.add_argument(
                "--iterations", type=int, default=ITERATIONS, help=f"rounds of the hash, {LEAST_ITERATIONS} or more"
            )
    return parser.parse_args(argv)


def ask_password(ask: Callable[[str], str] = getpass.getpass) -> str:
    """From the terminal, twice, or from standard input. Raises BadUser."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password = ask("Password: ")
    if ask("Again: ") != password:
        raise BadUser("the two passwords differ")
    return password


def run(options: argparse.Namespace) -> None:
    """Raises BadUser, ValueError, OSError."""
    path = options.data / CLUSTER_FOLDER / credentials.FILE_NAME
    if options.command == "list":
        for name in sorted(credentials.read(path)):
            sys.stdout.write(f"{name}\n")
    elif options.command == "remove":
        credentials.remove(path, options.name)
    else:
        if options.iterations < LEAST_ITERATIONS:
            raise BadUser(f"clients ask for {LEAST_ITERATIONS} iterations or more")
        change = credentials.add if options.command == "add" else credentials.set_password
        change(path, options.name, ask_password(), options.iterations)


def main(argv: list[str] | None = None) -> int:
    try:
        run(arguments(sys.argv[1:] if argv is None else argv))
    except (BadUser, ValueError, OSError) as problem:
        sys.stderr.write(f"kaas.broker.users: {problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
