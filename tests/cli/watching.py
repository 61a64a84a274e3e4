"""Descriptions of groups, as the live socket sends them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

NOW = datetime(2026, 1, 31, 12, 0, 0, tzinfo=UTC)


def member(member_id: str, **more: Any) -> dict[str, Any]:
    """A stable member that was heard just now."""
    return {
        "member_id": member_id,
        "instance_id": None,
        "client_id": f"client-{member_id}",
        "state": "stable",
        "assignment": [{"topic": "orders", "partitions": [0, 1]}],
        "lag": 3,
        "session_timeout_ms": 10_000,
        "last_heartbeat_at": NOW.isoformat(),
        **more,
    }


def described(*members: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A stable group."""
    return {
        "group_id": "shop",
        "state": "Stable",
        "generation": 4,
        "group_epoch": None,
        "member_count": len(members),
        "total_lag": 12,
        "lag_status": "ok",
        "phase": {"name": "stable", "since": NOW.isoformat(), "waiting_for": [], "waiting_count": 0},
        "rebalance": None,
        "members": list(members),
        **more,
    }


def snapshot(group: dict[str, Any] | None) -> dict[str, Any]:
    return {"type": "snapshot", "id": "1-0", "group": group}


def event(kind: str, changes: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    told = {"kind": kind, "at": NOW.isoformat(), **more}
    return {"type": "event", "id": "2-0", "event": told, "changes": changes}
