"""/metrics: what Prometheus may know, from this process's index.

Job: a collector per cluster, and the view.
Rules: no broker and no Redis is asked; a scrape shows the groups that its token may see. Samples are made when somebody
asks, so that nothing is counted twice.
Must not know: how groups are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from groups.access import Principal, group_visible
from groups.api.problems import problem_page
from groups.authentication import principal_of_token, principal_of_user
from groups.clusters import clusters
from groups.feeds import ClusterFeed, feed_of
from groups.index import GroupRow
from groups.problems import UNAUTHENTICATED, Problem


def metrics(request: HttpRequest) -> HttpResponse:
    """Metrics in Prometheus' text format, for a token or a session."""
    principal = _principal(request)
    if principal is None:
        problem = Problem(kind=UNAUTHENTICATED, resource="metrics", message="Metrics need a token that may read.")
        response = problem_page(problem)
        response["WWW-Authenticate"] = "Bearer"
        return response
    registry = CollectorRegistry(auto_describe=False)
    registry.register(GroupCollector(principal))
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _principal(request: HttpRequest) -> Principal | None:
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return principal_of_token(text.strip(), timezone.now())
    return principal_of_user(request.user) if request.user.is_authenticated else None


class GroupCollector(Collector):
    """Every metric of the clusters and groups that a principal may see."""

    def __init__(self, principal: Principal) -> None:
        self._principal = principal

    def collect(self) -> Iterable[Metric]:
        seen = [feed_of(name) for name in clusters() if self._principal.role_anywhere(name) is not None]
        yield from _feed_metrics(seen)
        yield from _rebalance_metrics(seen)
        groups = [(feed.cluster.name, self._rows(feed)) for feed in seen]
        yield from _group_metrics(groups)
        yield from _lag_metrics(groups)

    def _rows(self, feed: ClusterFeed) -> list[GroupRow]:
        visible: Callable[[str], bool] = group_visible(self._principal, feed.cluster.name)
        return [row for row in feed.index.all() if visible(row.group_id)]


Groups = list[tuple[str, list[GroupRow]]]


def _feed_metrics(feeds: list[ClusterFeed]) -> Iterator[Metric]:
    age = GaugeMetricFamily("kaas_feed_age_seconds", "Age of what the brokers told last.", labels=["cluster"])
    connected = GaugeMetricFamily("kaas_feed_connected", "1 while the feed is read.", labels=["cluster"])
    sockets = GaugeMetricFamily("kaas_sockets", "Open live sockets of this process.", labels=["cluster"])
    for feed in feeds:
        labels = [feed.cluster.name]
        if (age_ms := feed.age_ms()) is not None:
            age.add_metric(labels, age_ms / 1_000)
        connected.add_metric(labels, float(feed.loaded and not feed.reader.is_cut_off()))
        sockets.add_metric(labels, feed.hub.count())
    yield from (age, connected, sockets)


def _rebalance_metrics(feeds: list[ClusterFeed]) -> Iterator[Metric]:
    ended = CounterMetricFamily(
        "kaas_rebalances", "Rebalances that ended while this process listened.", labels=["cluster", "cause"]
    )
    for feed in feeds:
        for cause, count in sorted(feed.rebalances.items()):
            ended.add_metric([feed.cluster.name, cause], count)
    yield ended


def _group_metrics(groups: Groups) -> Iterator[Metric]:
    states = GaugeMetricFamily("kaas_groups", "Groups by state.", labels=["cluster", "state"])
    state = GaugeMetricFamily(
        "kaas_group_state", "1 for the state of each group.", labels=["cluster", "group", "state"]
    )
    members = GaugeMetricFamily("kaas_group_members", "Members of each group.", labels=["cluster", "group"])
    for cluster, rows in groups:
        for name, count in sorted(Counter(row.state for row in rows).items()):
            states.add_metric([cluster, name], count)
        for row in rows:
            state.add_metric([cluster, row.group_id, row.state], 1)
            members.add_metric([cluster, row.group_id], row.member_count)
    yield from (states, state, members)


def _lag_metrics(groups: Groups) -> Iterator[Metric]:
    total = GaugeMetricFamily("kaas_group_lag", "Lag of each group over all partitions.", labels=["cluster", "group"])
    by_topic = GaugeMetricFamily(
        "kaas_group_topic_lag", "Lag of each group in each topic.", labels=["cluster", "group", "topic"]
    )
    for cluster, rows in groups:
        for row in rows:
            if (lag := row.total_lag()) is not None:
                total.add_metric([cluster, row.group_id], lag)
            for part in row.committed:
                if (lag := part.lag()[0]) is not None:
                    by_topic.add_metric([cluster, row.group_id, part.log.name], lag)
    yield from (total, by_topic)
