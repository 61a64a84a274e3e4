"""What a plan is made from: the group's committed offsets and those of the strategy's source.

Job: fetch them, under the guard.
Rules: a source group must be visible to who asks and have committed something.
Must not know: plans that are stored.
"""

from __future__ import annotations

from groups.access import Principal, require_visible
from groups.clusters import Cluster
from groups.gateway import Gateway
from groups.problems import not_found
from offsets.choices import Strategy
from offsets.planning import Ground, require_source
from offsets.requests import ResetRequest


def ground_of(principal: Principal, cluster: Cluster, gateway: Gateway, group_id: str, request: ResetRequest) -> Ground:
    """The ground of a plan.

    Raises Problem: 404 for a source group that is not there, 400 for an empty CSV, 502 to 504 from the cluster.
    """
    held = gateway.offsets(group_id)
    if request.strategy == Strategy.CSV:
        ground = Ground(held=held, source=dict(request.value))
    elif request.strategy == Strategy.GROUP:
        require_visible(principal, cluster, request.value)
        other = gateway.offsets(request.value)
        if not other:
            raise not_found(f"group {request.value} with committed offsets")
        ground = Ground(held=held, source={place: kept.offset for place, kept in other.items()})
    else:
        ground = Ground(held=held, source={})
    require_source(request, ground)
    return ground
