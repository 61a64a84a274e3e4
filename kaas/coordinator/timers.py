"""Names of timers. A timer is a key and a deadline; setting a key again replaces its deadline."""

from __future__ import annotations

TimerKey = tuple[str, ...]
"""(kind, group id, member id) or a shorter one."""


def session(group_id: str, member_id: str) -> TimerKey:
    """Length: the member's session timeout; a member that is silent that long is removed."""
    return "session", group_id, member_id


def new_member(group_id: str, member_id: str) -> TimerKey:
    """Length: 5 min; a newcomer whose Join is parked that long is taken for gone (KAFKA-7610, 9232)."""
    return "new_member", group_id, member_id


def pending_member(group_id: str, member_id: str) -> TimerKey:
    """Length: the session timeout that was asked for; an id that was told and never used is dropped (KAFKA-7909)."""
    return "pending_member", group_id, member_id


def initial_delay(group_id: str) -> TimerKey:
    """Length: group.initial.rebalance.delay.ms, so that members who start together make one generation (KAFKA-4925)."""
    return "initial_delay", group_id


def rebalance(group_id: str) -> TimerKey:
    """Length: the longest rebalance timeout of a member; who has not come back by then is out."""
    return "rebalance", group_id


def sync(group_id: str) -> TimerKey:
    """Length: the longest rebalance timeout of a member; who has not synced by then is out (KAFKA-12890)."""
    return "sync", group_id


def rejoin(group_id: str, member_id: str) -> TimerKey:
    """Length: its rebalance timeout; a classic member of a consumer group that was told to join again and does not is out."""
    return "rejoin", group_id, member_id


def resync(group_id: str, member_id: str) -> TimerKey:
    """Length: its rebalance timeout; a classic member of a consumer group that joined and does not sync is out."""
    return "resync", group_id, member_id


def revocation(group_id: str, member_id: str) -> TimerKey:
    """Length: the member's rebalance timeout; who has not let go of what it was told to by then is out (KIP-848)."""
    return "revocation", group_id, member_id


def transaction(transactional_id: str) -> TimerKey:
    """Length: the transaction timeout that its producer asked for; an open transaction is aborted then."""
    return "transaction", transactional_id


def markers(transactional_id: str) -> TimerKey:
    """Length: half a second; markers that could not be written are sent again."""
    return "markers", transactional_id


TRANSACTION_EXPIRY: TimerKey = ("transaction_expiry",)
"""Length: transaction.remove.expired.transaction.cleanup.interval.ms."""
RETENTION: TimerKey = ("retention",)
"""Length: offsets.retention.check.interval.ms."""
