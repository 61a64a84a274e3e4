"""What changed between two descriptions of a group, small enough to send for each event.

Job: the difference, and its application (what a page's script does as well).
Rules: a difference holds whole new values; `members` are compared one by one, and null takes one away; heartbeat times
are left out, because they change all the time and travel with the pings. A description and every later difference give
the newest description.
Must not know: sockets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Description = Mapping[str, Any]

VOLATILE = ("last_heartbeat_at", "last_heartbeat_ms_ago")


def changes(before: Description | None, after: Description | None) -> dict[str, Any] | None:
    """The difference; whole where there was nothing before, null where nothing is left."""
    if after is None:
        return None
    held = before or {}
    changed: dict[str, Any] = {key: value for key, value in after.items() if key not in held or held[key] != value}
    changed.update(dict.fromkeys(held.keys() - after.keys()))
    changed.pop("members", None)
    members = _members_changed(_by_id(held), _by_id(after))
    if members or before is None:
        changed["members"] = members
    return changed


def merged(held: Description | None, changed: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A description after a difference; members stay in the order of their ids."""
    if changed is None:
        return None
    members = {**_by_id(held or {}), **changed.get("members", {})}
    whole = {**(held or {}), **changed}
    whole = {key: value for key, value in whole.items() if not (key.endswith("_str") and value is None)}
    return {**whole, "members": [members[one] for one in sorted(members) if members[one] is not None]}


def stable(description: Description) -> dict[str, Any]:
    """A description without what changes all the time."""
    members = [{key: value for key, value in one.items() if key not in VOLATILE} for one in description["members"]]
    return {**description, "members": members}


def _by_id(description: Description) -> dict[str, Any]:
    return {member["member_id"]: member for member in description.get("members", ())}


def _members_changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    changed = {one: row for one, row in after.items() if before.get(one) != row}
    return {**changed, **dict.fromkeys(before.keys() - after.keys())}
