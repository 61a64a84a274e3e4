"""What the feed carries: snapshots of groups, events, log ends, brokers. The contract between the engine and the console.

Job: the shapes, once. The broker (and the observer of any other cluster) writes them, the console reads them, and neither
knows anything else of the other.
Rules:
- One JSON object per value. Times are milliseconds since 1970 (`*_at`, `at`, `*_since`), durations end in `_ms`.
- A snapshot is whole. An event may carry a `patch`: its keys replace those of the snapshot, save `members` and `offsets`,
  which are merged by key, and a null there removes. An event may carry a whole `snapshot` in place of a patch.
  Snapshot plus later events equals a fresh snapshot (`apply`), whatever was coalesced on the way.
- `order` = (coordinator_epoch, version) grows with each publication of a group; a reader ignores what is not newer.
- Heartbeat times are not events: they travel on the pulse channel and are as old as the last pulse.
Must not know: Redis (kaas.feed.keys names the places), Django, the coordinator's inner state.
"""

from __future__ import annotations

from typing import Any

import msgspec


class TopicPartitions(msgspec.Struct, frozen=True, kw_only=True):
    """Partitions of one topic, sorted."""

    topic: str
    partitions: list[int]


class MemberView(msgspec.Struct, frozen=True, kw_only=True):
    """A member as operators see it.

    `state`: `joining` (its Join is parked), `missing` (the group rebalances and it has not come back), `syncing` (waits for
    the leader's assignment), `unsynced` (joined, has not asked for its assignment), `stable`; in a consumer group `stable`,
    `behind` (it has not heard of the newest group epoch), `revoking` (it is to give up what stands in `revoking`), `waiting`
    (part of its target is not free, or it has not been told that it is), `away` (a static member between two lives).
    `epoch`: the generation (classic) or member epoch (consumer) that this member knows.
    `kind`: the protocol that it speaks, `classic` or `consumer`; a consumer group may have both.
    `target_assignment`: what it is to have in the end. `server_assignor`: the one it asks for, null for no matter which.
    `subscription_regex`: the pattern whose topics it wants beside those of `subscription`.
    `subscription` is null when it cannot be decoded: then the member counts as subscribed to everything and
    `subscription_raw` (base64) has the bytes. The same for `assignment` and `assignment_raw`.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    state: str
    epoch: int
    subscription: list[str] | None
    subscription_regex: str | None = None
    subscription_raw: str | None = None
    assignment: list[TopicPartitions] | None
    target_assignment: list[TopicPartitions] | None = None
    revoking: list[TopicPartitions] | None = None
    assignment_raw: str | None = None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    last_heartbeat_at: int | None
    joined_at: int | None
    is_leader: bool = False
    kind: str = "classic"
    server_assignor: str | None = None
    rack_id: str | None = None


class OffsetView(msgspec.Struct, frozen=True, kw_only=True):
    """A committed offset, with the ends of its log as they were when the snapshot was made (null: not known).

    The `topics` hash has newer ends; a reader takes those.
    """

    committed: int
    leader_epoch: int
    metadata: str
    committed_at: int
    expires_at: int | None = None
    log_start: int | None = None
    log_end: int | None = None
    last_stable: int | None = None


class Phase(msgspec.Struct, frozen=True, kw_only=True):
    """A finished phase of a rebalance: `joining`, `syncing`, or in a consumer group `assigning`, `reconciling`."""

    name: str
    duration_ms: int


class WaitingFor(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a phase waits for, and which timer ends the wait.

    `member_id` is null for the initial delay. `timer` is one of `initial_delay, rebalance, session, pending_member, sync`, in a
    consumer group one of `revocation` (it has not given up partitions), `heartbeat` (it has something to hear at its next one,
    and its session is the limit), `away` (a static member that is to come back within its session). `deadline_at` is null for
    the last two: it is the end of the member's session, which moves with every heartbeat. `since` is the moment from which on
    it is waited for, null where that is the phase's.
    """

    member_id: str | None
    client_id: str | None
    timer: str
    deadline_at: int | None
    since: int | None = None


class RebalanceView(msgspec.Struct, frozen=True, kw_only=True):
    """The rebalance under way. `phase` is `joining` or `syncing`, in a consumer group `assigning` or `reconciling`.

    `cause` is one of CAUSES; `detail` holds what its sentence needs (`reason`, `silent_ms`, `timeout_ms`, `by`, `topics`,
    `assignment_version`, `client_id`, `instance_id`). `also` lists causes that came while it ran. `waiting_for` names the
    first 50 of the `waiting_count` it waits for.
    """

    started_at: int
    cause: str
    member_id: str | None
    detail: dict[str, Any]
    also: list[dict[str, Any]]
    phase: str
    phase_since: int
    phases: list[Phase]
    waiting_for: list[WaitingFor]
    waiting_count: int = 0
    generation_before: int
    members_before: int


class LastRebalance(msgspec.Struct, frozen=True, kw_only=True):
    """The end of the last rebalance, for lists."""

    at: int
    cause: str
    member_id: str | None
    detail: dict[str, Any]
    duration_ms: int


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A whole group.

    `type`: classic, consumer, simple (offsets without members ever), share, streams. `state`: Kafka's words.
    `generation` for classic groups, `group_epoch` and `assignment_epoch` for consumer groups, null otherwise.
    `protocol`: the members' protocol of a classic group, the assignor of a consumer group.
    `members` by member id, `offsets` by "topic/partition" (split at the last slash).
    `coordinator` is the broker id. `source` says how this is known: feed, tail or poll.
    `error`: set when the group's stored state cannot be read, one sentence.
    """

    cluster: str
    group_id: str
    coordinator: int
    coordinator_epoch: int
    version: int
    at: int
    source: str = "feed"
    state: str
    state_since: int
    type: str
    protocol_type: str
    protocol: str
    leader: str | None = None
    generation: int | None = None
    group_epoch: int | None = None
    assignment_epoch: int | None = None
    pending_members: int = 0
    rebalance: RebalanceView | None = None
    last_rebalance: LastRebalance | None = None
    error: str | None = None
    members: dict[str, MemberView]
    offsets: dict[str, OffsetView]


class MovedPartition(msgspec.Struct, frozen=True, kw_only=True, rename={"from_member": "from", "to_member": "to"}):
    """One partition that changed hands; null: nobody had it, or nobody has it.

    `without_ms`: how long nobody read it, from the moment its reader let go to the end of the rebalance that gave it to
    another (in a consumer group to the moment at which that one had all that it was to have); null while nobody has it, for
    one that nobody had before, and where that was not followed from the beginning.
    """

    topic: str
    partition: int
    from_member: str | None
    to_member: str | None
    without_ms: int | None = None


class MemberPart(msgspec.Struct, frozen=True, kw_only=True):
    """What one member did in a rebalance. Times are milliseconds after it began; null: that did not happen, or is not known.

    `joined_ms`: its Join came, so nobody waited for it any longer. `synced_ms`: it asked for its assignment (the leader, who
    brings them, has none). In a consumer group `joined_ms` is when it had nothing left to give up and `synced_ms` when it had
    all that it was to have. `gone_ms`, `gone`: it went, and by which kind of event (`member_left`, `member_expired`, ...).
    `is_new`: it was not in the group before, so nobody waited for it. `name`: its instance id, else its client id; empty
    when that is not known.
    """

    member_id: str
    name: str
    is_new: bool = False
    joined_ms: int | None = None
    synced_ms: int | None = None
    gone_ms: int | None = None
    gone: str | None = None


class RebalanceRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A rebalance that ended; the `rebalance` field of a `rebalance_completed` event. `kind`: classic or consumer, where the
    generations are group epochs.

    `outcome`: stable, empty (nobody was left), superseded (nothing was assigned before the next one began).
    `without_ms`: member id to the time it spent without partitions in this rebalance. `parts`: what each member did, where
    that was followed from the beginning.
    """

    started_at: int
    ended_at: int
    duration_ms: int
    phases: list[Phase]
    cause: str
    member_id: str | None
    detail: dict[str, Any]
    also: list[dict[str, Any]]
    outcome: str
    generation_before: int
    generation_after: int
    members_before: int
    members_after: int
    moved: list[MovedPartition]
    moved_count: int
    kept: int
    without_ms: dict[str, int]
    parts: list[MemberPart] = []
    kind: str = "classic"


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened to a group. `kind` is one of KINDS.

    `member_id` and its companions stand in events about one member (`reason` is the client's own of KIP-800, `silent_ms` and
    `timeout_ms` tell an expiry, `replaced_by` a static replacement); `cause` and `detail` in `rebalance_started`;
    `rebalance` in `rebalance_completed`; `before` and `after` in `state_changed`; `topics` in `offsets_committed`,
    `offsets_reset`, `offsets_deleted`, `subscription_changed` and `partitions_changed`; `assignment_version` in
    `coordinator_gained` and `coordinator_lost`.
    """

    kind: str
    cluster: str
    group_id: str
    at: int
    coordinator: int
    coordinator_epoch: int
    version: int
    member_id: str | None = None
    instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    reason: str | None = None
    silent_ms: int | None = None
    timeout_ms: int | None = None
    replaced_by: str | None = None
    cause: str | None = None
    detail: dict[str, Any] | None = None
    rebalance: RebalanceRecord | None = None
    before: str | None = None
    after: str | None = None
    topics: list[str] | None = None
    count: int | None = None
    assignment_version: int | None = None
    patch: dict[str, Any] | None = None
    snapshot: Snapshot | None = None


class TopicView(msgspec.Struct, frozen=True, kw_only=True):
    """The ends of a topic's logs at one moment: per partition [log_start, log_end, last_stable], or null when not known."""

    topic: str
    topic_id: str | None
    at: int
    internal: bool = False
    partitions: list[tuple[int, int, int] | None]


class BrokerView(msgspec.Struct, frozen=True, kw_only=True):
    """A broker, written each second while it lives: a reader takes `at` as the age of everything this broker tells.

    `incarnation` is new at each start. `state`: alive, draining, dead, read_only (its disk refuses writes).
    """

    id: int
    host: str
    port: int
    state: str
    at: int
    started_at: int
    incarnation: str
    assignment_version: int
    group_count: int
    source: str = "feed"
    error: str | None = None


class Pulse(msgspec.Struct, frozen=True, kw_only=True):
    """Last heartbeats of the members heard since the pulse before: group id to member id to time."""

    at: int
    groups: dict[str, dict[str, int]]


KINDS = (
    "member_joined",
    "member_left",
    "member_expired",
    "member_fenced",
    "member_replaced",
    "rebalance_started",
    "rebalance_completed",
    "state_changed",
    "offsets_committed",
    "offsets_reset",
    "offsets_deleted",
    "group_created",
    "group_deleted",
    "group_expired",
    "coordinator_gained",
    "coordinator_lost",
    "subscription_changed",
    "partitions_changed",
    "members_changed",
    "resync",
)
"""`members_changed` tells nothing that happened; it carries what is shown of members (a parked request, a pending id)."""

CAUSES = (
    "member_joined",
    "member_left",
    "member_removed",
    "session_expired",
    "rebalance_timeout",
    "subscription_changed",
    "static_member_replaced",
    "leader_rejoined",
    "partitions_changed",
    "topic_changed",
    "coordinator_moved",
    "assignment_failed",
    "protocol_changed",
)

MERGED = ("members", "offsets")
"""The keys of a snapshot that a patch merges instead of replacing."""


def order(value: dict[str, Any]) -> tuple[int, int]:
    """What decides which of two publications of one group is newer."""
    return value["coordinator_epoch"], value["version"]


def apply(snapshot: dict[str, Any] | None, event: dict[str, Any]) -> dict[str, Any] | None:
    """A snapshot (as decoded JSON, or null for a group that is not there) after one event; the given one is not changed.

    An event that is not newer than the snapshot changes nothing. A group that was deleted or expired becomes null.
    """
    if snapshot is not None and order(event) <= order(snapshot):
        return snapshot
    if event.get("snapshot") is not None:
        whole: dict[str, Any] = event["snapshot"]
        return whole
    if event["kind"] in ("group_deleted", "group_expired", "coordinator_lost"):
        return None
    patch = event.get("patch")
    if patch is None or snapshot is None:
        return snapshot
    merged = {**snapshot, **patch}
    for key in MERGED:
        merged[key] = {k: v for k, v in {**snapshot[key], **patch.get(key, {})}.items() if v is not None}
    return merged
