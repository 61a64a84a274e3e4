"""What jobs can do: a kind per sort of work. This app brings the deletion of groups; others add theirs when they start.

Rules: a kind's `act` does the whole of one group through the same service as a single request, so that rights, audit rows and
undo are the same; it reads back what it wrote, and doing it again after a worker died does no harm. What it must remember for
that it hands to `remember` before it goes on.
Must not know: how jobs are kept and run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from groups.access import Principal, cluster_of, require
from groups.choices import WITHOUT_MEMBERS, Role
from groups.gateway import gateway_of
from groups.index import GroupRow
from groups.problems import FAILED, NOT_FOUND, Problem
from groups.services import group_delete

Params = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One group to work on: who asks, where, with which parameters, and what was remembered of an earlier try."""

    principal: Principal
    cluster: str
    group_id: str
    params: Params
    note: dict[str, Any]
    remember: Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """`label` names the work. `checked` makes parameters of what was asked, or refuses it (400). `fits` says whether a
    group of the list is one to work on. `act` does it and answers with a sentence, or raises Problem."""

    label: str
    checked: Callable[[Params], Params]
    fits: Callable[[GroupRow], bool]
    act: Callable[[Item], str]


kinds: dict[str, JobKind] = {}
"""Name in the API to the kind."""


def is_empty(row: GroupRow) -> bool:
    """Whether a group may be deleted or reset: nobody is in it."""
    return not row.member_count and row.state in WITHOUT_MEMBERS


def _delete(item: Item) -> str:
    cluster = cluster_of(item.principal, item.cluster)
    require(item.principal, Role.OPERATE, cluster, item.group_id)  # else what may not be seen would look gone
    try:
        lost = group_delete(item.principal, item.cluster, item.group_id)["offsets"]
    except Problem as problem:
        if problem.kind is NOT_FOUND:
            return "It was gone already."
        raise
    left = gateway_of(cluster).offsets(item.group_id)
    if left:
        message = f"It was deleted, but {len(left)} offsets read back: somebody made it anew."
        raise Problem(kind=FAILED, resource=f"group {item.group_id}", message=message)
    return f"Deleted with {len(lost)} committed offset{'' if len(lost) == 1 else 's'}; undo puts them back."


kinds["groups_delete"] = JobKind(label="Delete groups", checked=lambda params: {}, fits=is_empty, act=_delete)
