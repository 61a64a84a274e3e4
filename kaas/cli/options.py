"""What every command takes: which console, which token, which cluster, which format.

Job: the options, before or after a command's name, and the context that they make.
Rules: what stands nearest to the end of the line wins; a variable of the environment stands in for what is not said.
Must not know: what commands do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, TypeVar

import click

from kaas.cli.output import FORMATS, Format, Output
from kaas.cli.rest import Rest, key_of, segment

T = TypeVar("T")


@dataclass(kw_only=True)
class Said:
    """What a command works with."""

    server: str = "http://127.0.0.1:8000"
    token: str = ""
    cluster: str = "local"
    output: Format = "table"

    @cached_property
    def rest(self) -> Rest:
        """The console."""
        return Rest(self.server, self.token)

    @cached_property
    def out(self) -> Output:
        """Where the answer goes."""
        return Output(self.output)

    def of_cluster(self, rest: str = "") -> str:
        """An address below the cluster's."""
        return f"clusters/{segment(self.cluster)}/{rest}"

    def of_group(self, group: str, rest: str = "") -> str:
        """An address below a group's."""
        return self.of_cluster(f"groups/{key_of(group)}/{rest}")


_OPTIONS = (
    click.option("--server", envvar="KAAS_URL", help="Address of the console [KAAS_URL; http://127.0.0.1:8000]."),
    click.option("--token", envvar="KAAS_TOKEN", help="Token; better in KAAS_TOKEN, which other users cannot read."),
    click.option("--cluster", envvar="KAAS_CLUSTER", help="Cluster [KAAS_CLUSTER; local]."),
    click.option("-o", "--output", type=click.Choice(FORMATS), help="Format of the output [table]."),
)


def everywhere(command: Callable[..., T]) -> Callable[..., T]:
    """Gives a command the options that all have, and their values as its first argument."""

    @wraps(command)
    def run(*args: Any, **more: Any) -> T:
        given: dict[str, Any] = {name: more.pop(name) for name in ("server", "token", "cluster", "output")}
        context = click.get_current_context()
        said = context.ensure_object(Said)
        for name, value in given.items():
            from_line = context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
            if value is not None and (from_line or context.parent is None):
                setattr(said, name, value)
        return command(said, *args, **more)

    decorated: Any = run
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]
