"""Groups, their members and their rebalances over REST."""

from __future__ import annotations

from django.http import StreamingHttpResponse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response

from groups import selectors, services
from groups.api import serializers as shapes
from groups.api.base import ApiView, WriteParameters, group_of, member_of
from groups.api.export import CsvRenderer, JsonLinesRenderer, csv_chunks, json_chunks
from groups.api.parameters import GroupListParameters, RebalanceListParameters, group_query, rebalance_query
from groups.api.schema import WRITES, failures

EXPORTS = {CsvRenderer.format: csv_chunks, JsonLinesRenderer.format: json_chunks}


class GroupListView(ApiView):
    """The groups of a cluster."""

    renderer_classes = (JSONRenderer, CsvRenderer, JsonLinesRenderer)

    @extend_schema(
        operation_id="groups_list",
        parameters=[GroupListParameters, OpenApiParameter("format", enum=["json", *EXPORTS])],
        responses={
            (200, "application/json"): shapes.GroupList,
            (200, "text/csv"): OpenApiResponse(
                str, "A line per group and partition. A cell that a spreadsheet would run begins with a single quote."
            ),
            (200, "application/x-ndjson"): OpenApiResponse(str, "A list item per line, with its `offsets`."),
            **failures(400, 404, 503),
        },
    )
    def get(self, request, cluster: str):
        """Groups that match, one page at a time; as CSV and as JSON lines all of them, with their partitions."""
        query = group_query(self.parameters(GroupListParameters))
        renderer = request.accepted_renderer
        if (chunks := EXPORTS.get(renderer.format)) is not None:
            rows = selectors.group_export(self.principal(), cluster, query)
            return StreamingHttpResponse(
                chunks(cluster, rows),
                content_type=f"{renderer.media_type}; charset=utf-8",
                headers={"Content-Disposition": f'attachment; filename="groups-{cluster}.{renderer.format}"'},
            )
        return Response(selectors.group_list(self.principal(), cluster, query))


class GroupView(ApiView):
    """One group."""

    @extend_schema(operation_id="group_describe", responses={200: shapes.Group, **failures(404, 503)})
    def get(self, request, cluster: str, group: str):
        """A group described: state, members, lag, phase, and what may be done with it."""
        self.parameters()
        return Response(selectors.group_get(self.principal(), cluster, group_of(group)))

    @extend_schema(
        operation_id="group_delete",
        parameters=[WriteParameters, *WRITES],
        request=None,
        responses={200: shapes.DeletedGroup, **failures(400, 403, 404, 409, 502, 503, 504)},
    )
    def delete(self, request, cluster: str, group: str):
        """Deletes a group without members; undo puts its offsets back."""
        dry_run = self.parameters(WriteParameters)["dry_run"]
        group_id = group_of(group)
        return self.once(lambda: (200, services.group_delete(self.principal(), cluster, group_id, dry_run=dry_run)))


class MemberListView(ApiView):
    """The members of a group."""

    @extend_schema(operation_id="members_list", responses={200: shapes.MemberList, **failures(404, 503)})
    def get(self, request, cluster: str, group: str):
        """Members, idle ones too."""
        self.parameters()
        return Response(selectors.member_list(self.principal(), cluster, group_of(group)))


class MemberView(ApiView):
    """One member of a group."""

    @extend_schema(
        operation_id="member_remove",
        parameters=[WriteParameters, *WRITES],
        request=shapes.MemberRemoval,
        responses={200: shapes.RemovedMember, **failures(400, 403, 404, 409, 502, 503, 504)},
    )
    def delete(self, request, cluster: str, group: str, member: str):
        """Removes a member; the group rebalances without it, and its process may join again."""
        dry_run = self.parameters(WriteParameters)["dry_run"]
        reason = self.body(shapes.MemberRemoval)["reason"]
        group_id, member_id = group_of(group), member_of(member)

        def act():
            removed = services.member_remove(
                self.principal(), cluster, group_id, member_id, reason=reason, dry_run=dry_run
            )
            return 200, removed

        return self.once(act)


class RebalanceListView(ApiView):
    """The rebalances of a group."""

    @extend_schema(
        operation_id="rebalances_list",
        parameters=[RebalanceListParameters],
        responses={200: shapes.RebalanceList, **failures(400, 404, 503)},
    )
    def get(self, request, cluster: str, group: str):
        """What made the group rebalance, the newest first."""
        asked = rebalance_query(self.parameters(RebalanceListParameters))
        return Response(selectors.rebalance_list(self.principal(), cluster, group_of(group), **asked))


class RebalanceView(ApiView):
    """One rebalance."""

    @extend_schema(operation_id="rebalance_get", responses={200: shapes.Rebalance, **failures(404)})
    def get(self, request, cluster: str, group: str, number: int):
        """A rebalance with its phases and moves."""
        self.parameters()
        return Response(selectors.rebalance_get(self.principal(), cluster, group_of(group), number))
