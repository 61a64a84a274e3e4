"""Writes on groups and tokens. Each asks the guard, then says in an audit row what it is about to do, then does it.

Job: delete a group, remove a member, make and revoke tokens.
Rules: the principal comes first; `dry_run` goes as far as the first write and says what would be done; what a write takes
away is kept for undo. Whatever a broker refuses comes back as a Problem.
Must not know: requests, templates.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.utils import timezone

from groups.access import Principal, require, require_admin
from groups.audit import audited
from groups.authentication import token_digest, token_text
from groups.backups import backup_take, backup_void
from groups.choices import Role
from groups.gateway import Committed, Partition
from groups.gateways import gateway_of
from groups.models import Token
from groups.problems import DENIED, Problem, from_kafka, invalid, not_found, wrong_state
from groups.rows import actions, is_live
from groups.selectors import group_snapshot, token_row
from groups.times import with_twins
from kaas.errors import ErrorCode

Row = dict[str, Any]

REASON_LENGTH = 200
"""Kafka's clients cut a reason at 255; what we put around it needs room."""


def group_delete(principal: Principal, cluster_name: str, group_id: str, *, dry_run: bool = False) -> Row:
    """Deletes a group without members; its offsets can be put back by undo.

    Raises Problem: 404 unknown, 403 not granted, 409 with members, 502 to 504 from the cluster.
    """
    cluster, snapshot = group_snapshot(principal, cluster_name, group_id)
    require(principal, Role.OPERATE, cluster, group_id)
    if is_live(snapshot):
        reason = actions(snapshot)["delete"]["reason"]
        raise wrong_state(f"group {group_id}", reason, ErrorCode.NON_EMPTY_GROUP)
    gateway = gateway_of(cluster)
    held = gateway.offsets(group_id)
    answer = {"group_id": group_id, "deleted": not dry_run, "dry_run": dry_run, "offsets": offset_rows(held)}
    if dry_run:
        return answer
    act = {"actor": principal.actor, "action": "group_delete", "cluster": cluster.name, "group_id": group_id}
    with audited(**act, before={"state": snapshot.state, "offsets": offset_rows(held)}) as row:
        backup = backup_take(**act, offsets=held) if held else None
        code = gateway.delete_group(group_id)
        if code:
            if backup is not None:
                backup_void(backup)
            raise from_kafka(code, f"group {group_id}")
        row.after = {"state": "Dead", "offsets": []}
    return answer


def offset_rows(held: dict[Partition, Committed]) -> list[Row]:
    """Committed offsets as rows of an answer or an audit row."""
    return [
        with_twins({"topic": topic, "partition": partition, "committed": kept.offset})
        for (topic, partition), kept in sorted(held.items())
    ]


def member_remove(
    principal: Principal, cluster_name: str, group_id: str, member_id: str, *, reason: str, dry_run: bool = False
) -> Row:
    """Removes one member from a group; the group rebalances, and the member may join again.

    Raises Problem: 404 unknown group or member, 403 not granted, 502 to 504 from the cluster.
    """
    cluster, snapshot = group_snapshot(principal, cluster_name, group_id)
    require(principal, Role.OPERATE, cluster, group_id)
    member = snapshot.members.get(member_id)
    if member is None:
        raise not_found(f"member {member_id} of group {group_id}")
    answer = {"group_id": group_id, "member_id": member_id, "removed": not dry_run, "dry_run": dry_run}
    if dry_run:
        return answer
    before = {"member_id": member_id, "client_id": member.client_id, "instance_id": member.instance_id}
    with audited(
        actor=principal.actor, action="member_remove", cluster=cluster.name, group_id=group_id, before=before
    ) as row:
        told = f"{reason or 'no reason given'} (by {principal.actor})"
        # Kafka finds a member that speaks KIP-848 by its member id alone: with an instance id it takes it for a classic one
        instance_id = member.instance_id if member.kind == "classic" else None
        code = gateway_of(cluster).remove_member(group_id, member_id, instance_id, told)
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            raise not_found(f"member {member_id} of group {group_id}")
        if code:
            raise from_kafka(code, f"group {group_id}")
        row.after = {"member_id": None, "reason": reason}
    return answer


def token_create(
    principal: Principal,
    *,
    name: str,
    role: str,
    cluster: str = "*",
    group_pattern: str = "*",
    expires_at: datetime | None = None,
    dry_run: bool = False,
) -> Row:
    """A new token of the principal's user; the answer holds its text, once, and neither id nor text in a dry run.

    Raises Problem: 403 for a token that is not an administrator's own, or for a role that the user has nowhere; 400 for an
    end in the past.
    """
    if principal.token_id is not None:
        require_admin(principal, "tokens")
    highest = max((grant.role.rank for grant in principal.grants), default=-1)
    if Role(role).rank > highest:
        message = f"{principal.actor} has no such right anywhere, so no token can carry it."
        raise Problem(kind=DENIED, resource="tokens", message=message)
    if expires_at is not None and expires_at <= timezone.now():
        raise invalid("A token cannot end in the past.", resource="tokens", expires_at=["is in the past"])
    text = token_text()
    row = Token(
        owner=get_user_model().objects.get(pk=principal.user_id),
        name=name,
        digest=token_digest(text),
        role=role,
        cluster_pattern=cluster,
        group_pattern=group_pattern,
        expires_at=expires_at,
    )
    if dry_run:
        return {**token_row(row), "token": None}
    with audited(actor=principal.actor, action="token_create") as audit:
        row.save()
        audit.after = token_row(row)
    return {**token_row(row), "token": text}


def token_delete(principal: Principal, token_id: int, *, dry_run: bool = False) -> None:
    """Revokes a token; what it opened is closed at once. A dry run only says whether it would.

    Raises Problem: 404 for a token that is not there or not the user's own (an administrator revokes any), 403 for a token
    that is not an administrator's.
    """
    if principal.token_id is not None:
        require_admin(principal, "tokens")
    rows = Token.objects.select_related("owner").filter(pk=token_id)
    row = (rows if principal.is_admin() else rows.filter(owner=principal.user_id)).first()
    if row is None:
        raise not_found(f"token {token_id}")
    if dry_run:
        return
    with audited(actor=principal.actor, action="token_delete", before=token_row(row)):
        row.delete()
