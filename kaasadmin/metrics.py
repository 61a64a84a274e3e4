"""/metrics: what Prometheus may know, from this process's index.

Job: the view, and what is told of whole clusters.
Rules: no broker and no Redis is asked; a scrape shows the groups that its token may see. Samples are made when somebody
asks, so that nothing is counted twice.
Must not know: how groups are read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from groups.access import Principal, group_visible
from groups.api.problems import problem_page
from groups.authentication import principal_of_token, principal_of_user
from groups.clusters import clusters
from groups.feeds import ClusterFeed, feed_of
from groups.index import GroupRow
from groups.problems import UNAUTHENTICATED, Problem
from groups.tallies import BOUNDS_S
from kaasadmin.group_metrics import group_lines

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def metrics(request: HttpRequest) -> HttpResponse:
    """Metrics in Prometheus' text format, for a token or a session."""
    principal = _principal(request)
    if principal is None:
        problem = Problem(kind=UNAUTHENTICATED, resource="metrics", message="Metrics need a token that may read.")
        response = problem_page(problem)
        response["WWW-Authenticate"] = "Bearer"
        return response
    feeds = [feed_of(name) for name in clusters() if principal.role_anywhere(name) is not None]
    groups = [(feed.cluster.name, _rows(principal, feed)) for feed in feeds]
    registry = CollectorRegistry(auto_describe=False)
    registry.register(ClusterCollector(feeds, groups))
    text = "\n".join((*group_lines(groups), ""))
    return HttpResponse(generate_latest(registry) + text.encode(), content_type=CONTENT_TYPE)


def _principal(request: HttpRequest) -> Principal | None:
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return principal_of_token(text.strip(), timezone.now())
    return principal_of_user(request.user) if request.user.is_authenticated else None


def _rows(principal: Principal, feed: ClusterFeed) -> list[GroupRow]:
    visible: Callable[[str], bool] = group_visible(principal, feed.cluster.name)
    return [row for row in feed.index.all() if visible(row.group_id)]


Groups = list[tuple[str, list[GroupRow]]]


class ClusterCollector(Collector):
    """Every metric that is one for a whole cluster. `groups` are those that may be seen, by cluster."""

    def __init__(self, feeds: list[ClusterFeed], groups: Groups) -> None:
        self._feeds = feeds
        self._groups = groups

    def collect(self) -> Iterable[Metric]:
        yield from _feed_metrics(self._feeds)
        yield from _tally_metrics(self._feeds)
        states = GaugeMetricFamily("kaas_groups", "Groups by state.", labels=["cluster", "state"])
        for cluster, rows in self._groups:
            for name, count in sorted(Counter(row.state for row in rows).items()):
                states.add_metric([cluster, name], count)
        yield states


def _feed_metrics(feeds: list[ClusterFeed]) -> Iterator[Metric]:
    age = GaugeMetricFamily("kaas_feed_age_seconds", "Age of what the brokers told last.", labels=["cluster"])
    connected = GaugeMetricFamily("kaas_feed_connected", "1 while the feed is read.", labels=["cluster"])
    delay = GaugeMetricFamily("kaas_feed_delay_seconds", "From the last event to its arrival.", labels=["cluster"])
    sockets = GaugeMetricFamily("kaas_sockets", "Open live sockets of this process.", labels=["cluster"])
    for feed in feeds:
        labels = [feed.cluster.name]
        if (age_ms := feed.age_ms()) is not None:
            age.add_metric(labels, age_ms / 1_000)
        if feed.tallies.delay_s is not None:
            delay.add_metric(labels, feed.tallies.delay_s)
        connected.add_metric(labels, float(feed.loaded and not feed.reader.is_cut_off()))
        sockets.add_metric(labels, feed.hub.count())
    yield from (age, delay, connected, sockets)


def _tally_metrics(feeds: list[ClusterFeed]) -> Iterator[Metric]:
    """What was counted while this process listened."""
    ended = CounterMetricFamily("kaas_rebalances", "Rebalances that ended.", labels=["cluster", "cause"])
    took = HistogramMetricFamily("kaas_rebalance_seconds", "How long rebalances took.", labels=["cluster"])
    commits = CounterMetricFamily("kaas_commits", "Commits of members.", labels=["cluster"])
    for feed in feeds:
        cluster, tallies = feed.cluster.name, feed.tallies
        for cause, count in sorted(tallies.rebalances.items()):
            ended.add_metric([cluster, cause], count)
        bounds = [*map(str, BOUNDS_S), "+Inf"]
        took.add_metric([cluster], list(zip(bounds, accumulate(tallies.took), strict=True)), tallies.took_s)
        commits.add_metric([cluster], tallies.commits)
    yield from (ended, took, commits)
