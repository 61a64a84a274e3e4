"""python -m kaas.broker --port N --data DIR [--redis URL] [--set name=value …]: run a broker until a signal ends it.

Without --redis it is a cluster of one that tells nobody what happens. SIGTERM and SIGINT stop it in order, a second one at
once.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import logging
import signal
import sys
from pathlib import Path

import structlog
import uvloop

from kaas.broker.configs import BadConfigs
from kaas.broker.security.watched import BadFile
from kaas.broker.server import FolderTaken, Server
from kaas.broker.settings import BadSetting, Settings, parse
from kaas.cluster.assignment import BadAssignment

GC_THRESHOLDS = (20_000, 20, 20)
SWITCH_S = 0.000_5


def arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m kaas.broker", description=__doc__)
    parser.add_argument("--port", type=int, default=9092, help="port to listen on; 0 takes a free one")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder for everything that is durable")
    parser.add_argument("--broker-id", type=int, default=1, help="number of this broker in its cluster")
    parser.add_argument("--redis", metavar="URL", help="where the live feed goes; without it there is none")
    parser.add_argument(
        "--set", action="append", default=[], metavar="name=value", help="a setting, by Kafka's name; may be repeated"
    )
    return parser.parse_args(argv)


def configure_logs() -> None:
    """One line per event on standard error, whoever it comes from: our own parts log by structlog, storage by logging."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"]),
        ],
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


def tune_interpreter() -> None:
    """For a loop that is busy beside threads that write files.

    What is there when the broker is up stays for good, so the collector does not look at it again; young objects are looked at
    by the tens of thousands, because almost all of them die with their request. A thread that comes back from the disk asks the
    loop for the interpreter after half a millisecond, not five: the sooner it is through, the shorter they take turns.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    sys.setswitchinterval(SWITCH_S)


async def serve(options: argparse.Namespace, settings: Settings) -> None:
    """Run until a signal."""
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()
    server = Server(
        data=options.data,
        host=options.host,
        port=options.port,
        broker_id=options.broker_id,
        settings=settings,
        redis_url=options.redis,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _stop, stopping, loop, number)
    await server.start()
    tune_interpreter()
    await stopping.wait()
    await server.stop()


def _stop(stopping: asyncio.Event, loop: asyncio.AbstractEventLoop, number: int) -> None:
    """The first signal asks; the next one of the same kind does not wait."""
    stopping.set()
    loop.remove_signal_handler(number)
    signal.signal(number, signal.SIG_DFL)


def main(argv: list[str] | None = None) -> int:
    options = arguments(sys.argv[1:] if argv is None else argv)
    configure_logs()
    try:
        uvloop.run(serve(options, parse(options.set)))
    except (BadSetting, FolderTaken, BadAssignment, BadConfigs, BadFile, OSError) as problem:
        sys.stderr.write(f"kaas.broker: {problem}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
