"""What jobs can do: a kind per sort of work. This app brings the deletion of groups; others add theirs when they start.

Rules: a kind of work on groups does the whole of one group through the same service as a single request, so that rights, audit
rows and undo are the same. A kind of work on partitions does so many of one group at a time. Both read back what they wrote,
and doing it again after a worker died does no harm; what one must remember for that it hands to `remember` before it goes on.
Must not know: how jobs are kept and run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from groups.access import Principal, cluster_of, require
from groups.choices import WITHOUT_MEMBERS, JobState, Role
from groups.gateways import gateway_of
from groups.index import GroupRow
from groups.problems import FAILED, NOT_FOUND, Problem
from groups.services import group_delete

Params = dict[str, Any]

Result = str | Problem
"""What came of one item: a sentence, or why it was not done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One group to work on, or one partition of it: who asks, where, with which parameters, and what was remembered before
    or of an earlier try. `topic` and `partition` are null for a group."""

    principal: Principal
    cluster: str
    group_id: str
    topic: str | None
    partition: int | None
    params: Params
    note: dict[str, Any]
    remember: Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobKind:
    """Work on groups. `label` names it. `checked` makes parameters of what was asked, or refuses it (400). `fits` says
    whether a group of the list is one to work on. `act` does it and answers with a sentence, or raises Problem."""

    label: str
    checked: Callable[[Params], Params]
    fits: Callable[[GroupRow], bool]
    act: Callable[[Item], str]

    unit = "group"
    batch = 1

    def do(self, items: Sequence[Item]) -> list[Result]:
        """What came of each item."""
        return [self._done(item) for item in items]

    def _done(self, item: Item) -> Result:
        try:
            return self.act(item)
        except Problem as problem:
            return problem


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionKind:
    """Work on partitions of one group, at most `batch` of them at a time. `do` answers what came of each item, in their
    order, or raises Problem when nothing was done. `over` is told how the job ended, once, and at once when it is cancelled;
    then the items in hand may still be finished."""

    label: str
    batch: int
    do: Callable[[Sequence[Item]], Sequence[Result]]
    over: Callable[[Params, JobState], None]

    unit = "partition"


kinds: dict[str, JobKind] = {}
"""Work that is planned from a filter of the groups list: name in the API to the kind."""

partition_kinds: dict[str, PartitionKind] = {}
"""Work that a service of its own begins."""


def kind_of(name: str) -> JobKind | PartitionKind:
    """The kind of a job.

    Raises KeyError for one that this release does not know.
    """
    return partition_kinds[name] if name in partition_kinds else kinds[name]


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
