"""Tokens and audit rows over REST."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from groups import selectors, services
from groups.api import serializers as shapes
from groups.api.base import ApiView, WriteParameters
from groups.api.parameters import AuditParameters
from groups.api.schema import WRITES, failures


class TokenListView(ApiView):
    """Tokens."""

    @extend_schema(operation_id="tokens_list", responses={200: shapes.TokenList, **failures()})
    def get(self, request):
        """One's own tokens, everybody's for an administrator; never their texts."""
        self.parameters()
        return Response(selectors.token_list(self.principal()))

    @extend_schema(
        operation_id="token_create",
        parameters=[WriteParameters, *WRITES],
        request=shapes.NewToken,
        responses={201: shapes.MadeToken, 200: shapes.MadeToken, **failures(403, 409)},
    )
    def post(self, request):
        """Makes a token of one's own; its text is in this answer and nowhere else.

        Repeated with the same Idempotency-Key it gives the same token again, for a day.
        """
        dry_run = self.parameters(WriteParameters)["dry_run"]
        asked = self.body(shapes.NewToken)

        def act():
            return 200 if dry_run else 201, services.token_create(self.principal(), **asked, dry_run=dry_run)

        return self.once(act)


class TokenView(ApiView):
    """One token."""

    @extend_schema(
        operation_id="token_delete",
        parameters=[WriteParameters, *WRITES],
        request=None,
        responses={204: None, **failures(403, 404, 409)},
    )
    def delete(self, request, token: int):
        """Revokes a token: what it opened is closed at once."""
        dry_run = self.parameters(WriteParameters)["dry_run"]

        def act():
            services.token_delete(self.principal(), token, dry_run=dry_run)
            return 204, None

        return self.once(act)


class AuditListView(ApiView):
    """Audit rows."""

    @extend_schema(
        operation_id="audit_list",
        parameters=[AuditParameters],
        responses={200: shapes.AuditList, **failures()},
    )
    def get(self, request):
        """Who did what, the newest first: rows of the groups one may see, all of them for an administrator."""
        return Response(selectors.audit_list(self.principal(), **self.parameters(AuditParameters)))
