"""Ports that nobody uses, from the operating system."""

from __future__ import annotations

import socket


def free_ports(count: int) -> list[int]:
    """Different free ports; all are held until all are known."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def free_port() -> int:
    return free_ports(1)[0]
