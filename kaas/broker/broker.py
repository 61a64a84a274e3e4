"""The broker as those see it who serve requests: its parts, and what is in force.

Job: one record that handlers and services reach everything through.
Rules: who listens, and what starts and stops the parts, stands above (kaas.broker.server) and is not named here or below. A
part that is made at the start is not there before it; nothing is served before it either.
Must not know: requests, listeners.
"""

from __future__ import annotations

import dataclasses

from kaas.broker.clock import Clock
from kaas.broker.configs import Configs
from kaas.broker.group_service import GroupService
from kaas.broker.security.gates import SaslGate
from kaas.broker.security.quotas import Quotas
from kaas.broker.security.rules import Rules
from kaas.broker.settings import Settings
from kaas.broker.topic_service import TopicService
from kaas.cluster.view import ClusterView


@dataclasses.dataclass(kw_only=True, slots=True, eq=False)
class Broker:
    """One broker. `host` and `port` are what clients of its first listener are told.

    `incarnation` is new at each start, at `started_at` (wall time, ms). `rules` (null: everything is allowed) and `quotas` are
    in force for every request; `gates` has a gate for each listener where clients sign in. `cluster`, `groups` and `topics` are
    made at the start.
    """

    broker_id: int
    host: str
    port: int
    incarnation: str
    started_at: int
    settings: Settings
    configs: Configs
    clock: Clock
    rules: Rules | None = None
    quotas: Quotas = dataclasses.field(default_factory=lambda: Quotas((), 0))
    gates: dict[str, SaslGate] = dataclasses.field(default_factory=dict)
    cluster: ClusterView = dataclasses.field(init=False)
    groups: GroupService = dataclasses.field(init=False)
    topics: TopicService = dataclasses.field(init=False)
