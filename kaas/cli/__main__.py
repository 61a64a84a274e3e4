"""`python -m kaas.cli`: the commands together, and how a command ends.

Job: the root command, failures as sentences and exit statuses.
Rules: every failure is one sentence on standard error (with `--output json` the API's error object), never a trace.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence

import click

from kaas.cli.access import audit, tokens
from kaas.cli.alerts import alerts
from kaas.cli.clusters import brokers, clusters, topics
from kaas.cli.exits import Exit, Failed
from kaas.cli.groups import groups
from kaas.cli.options import Said, everywhere
from kaas.cli.output import visible
from kaas.cli.watch import watch
from kaas.cli.writes import delete, delete_offsets, remove_member, reset, undo


@click.group(name="kaas", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@everywhere
def cli(said: Said) -> None:
    """Consumer groups as the console knows them: look, watch, reset, undo."""


for of_groups in (watch, reset, undo, delete, delete_offsets, remove_member):
    groups.add_command(of_groups)
for command in (clusters, brokers, topics, groups, alerts, tokens, audit):
    cli.add_command(command)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line; the exit status (kaas.cli.exits)."""
    said = Said()
    try:
        status = cli.main(args=argv, prog_name="kaas", standalone_mode=False, obj=said)
        sys.stdout.flush()
        return status if isinstance(status, int) else Exit.DONE
    except Failed as failed:
        _tell(failed, said.output == "json")
        return failed.status
    except click.UsageError as wrong:
        wrong.show()
        return Exit.USAGE
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("\n")
        return Exit.INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has enough. What is still buffered goes nowhere, so that the interpreter's end is quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE


def _tell(failed: Failed, as_json: bool) -> None:
    if as_json and failed.problem is not None:
        text = json.dumps(failed.problem)
    else:
        text = "\n".join(f"kaas: {visible(line)}" for line in str(failed).splitlines())
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
