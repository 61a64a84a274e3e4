"""Clusters, their topics and their brokers over REST."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from groups import selectors
from groups.api import serializers as shapes
from groups.api.base import ApiView
from groups.api.schema import failures


class ClusterListView(ApiView):
    """Clusters."""

    @extend_schema(operation_id="clusters_list", responses={200: shapes.ClusterList, **failures()})
    def get(self, request):
        """The clusters that one may see, how each is read and how old that is."""
        self.parameters()
        return Response(selectors.cluster_list(self.principal()))


class TopicListView(ApiView):
    """The topics of a cluster."""

    @extend_schema(operation_id="topics_list", responses={200: shapes.TopicList, **failures(404, 503)})
    def get(self, request, cluster: str):
        """Topics, and how many groups read each."""
        self.parameters()
        return Response(selectors.topic_list(self.principal(), cluster))


class TopicGroupListView(ApiView):
    """Who reads a topic."""

    @extend_schema(operation_id="topic_groups_list", responses={200: shapes.TopicGroupList, **failures(404, 503)})
    def get(self, request, cluster: str, topic: str):
        """The groups that read a topic or committed there."""
        self.parameters()
        return Response(selectors.topic_group_list(self.principal(), cluster, topic))


class BrokerListView(ApiView):
    """The brokers of a cluster."""

    @extend_schema(operation_id="brokers_list", responses={200: shapes.BrokerList, **failures(404, 503)})
    def get(self, request, cluster: str):
        """Brokers: their leases, the assignment they know, how many groups each coordinates."""
        self.parameters()
        return Response(selectors.broker_list(self.principal(), cluster))
