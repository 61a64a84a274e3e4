"""Committed offsets over REST."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from groups.api.base import ApiView, WriteParameters, group_of
from groups.api.parameters import PageParameters
from groups.api.schema import WRITES, failures
from offsets import selectors
from offsets.api import serializers as shapes
from offsets.requests import topic_scope
from offsets.services.deletion import offsets_delete
from offsets.services.undo import offsets_undo


class OffsetListView(ApiView):
    """The committed offsets of a group."""

    @extend_schema(operation_id="offsets_list", responses={200: shapes.OffsetList, **failures(404, 503)})
    def get(self, request, cluster: str, group: str):
        """Per partition: what is committed, the log's ends, the lag and what kind of lag it is."""
        self.parameters()
        return Response(selectors.offset_list(self.principal(), cluster, group_of(group)))

    @extend_schema(
        operation_id="offsets_delete",
        parameters=[WriteParameters, *WRITES],
        request=shapes.OffsetDeletion,
        responses={200: shapes.DeletedOffsets, **failures(400, 403, 404, 409, 502, 503, 504)},
    )
    def delete(self, request, cluster: str, group: str):
        """Deletes committed offsets of topics or partitions; undo puts them back."""
        dry_run = self.parameters(WriteParameters)["dry_run"]
        scope = topic_scope(self.body(shapes.OffsetDeletion)["topics"])
        group_id = group_of(group)
        return self.once(lambda: (200, offsets_delete(self.principal(), cluster, group_id, scope, dry_run=dry_run)))


class UndoView(ApiView):
    """What can be undone, and undoing it."""

    @extend_schema(
        operation_id="undo_list", parameters=[PageParameters], responses={200: shapes.UndoList, **failures(400, 404)}
    )
    def get(self, request, cluster: str, group: str):
        """The resets and deletions that can be undone, the newest first: who did what, and when."""
        given = self.parameters(PageParameters)
        return Response(selectors.undo_list(self.principal(), cluster, group_of(group), **given))

    @extend_schema(
        operation_id="undo",
        parameters=[WriteParameters, *WRITES],
        request=shapes.UndoRequest,
        responses={200: shapes.Written, **failures(400, 403, 404, 409, 502, 503, 504)},
    )
    def post(self, request, cluster: str, group: str):
        """Puts back what a reset or deletion took away, once: the last one, unless the body names another."""
        dry_run = self.parameters(WriteParameters)["dry_run"]
        backup, group_id = self.body(shapes.UndoRequest).get("id"), group_of(group)
        chosen = None if backup is None else int(backup)
        return self.once(lambda: (200, offsets_undo(self.principal(), cluster, group_id, chosen, dry_run=dry_run)))
