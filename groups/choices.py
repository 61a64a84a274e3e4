"""The words that pages and API share: each with its value, its label and the tone in which it is drawn.

Job: one place for roles, states, types, lag states and outcomes.
Rules: values are what the API answers and the database stores; a tone is one of TONES, and pages decide its shape and
colour. States are Kafka's own words; one that is not listed here is passed through as it is.
Must not know: templates.
"""

from __future__ import annotations

from django.db import models

TONES = ("good", "busy", "warning", "bad", "quiet")


class Role(models.TextChoices):
    """What somebody may do with groups. Each includes the ones before it."""

    READ = "read", "Read"
    OPERATE = "operate", "Operate"
    ADMIN = "admin", "Administer"

    @property
    def rank(self) -> int:
        return list(Role).index(self)


ROLE_OF_DJANGO_GROUP = {"viewer": Role.READ, "operator": Role.OPERATE, "admin": Role.ADMIN}
"""Django's groups that come with the product, and the role each gives on every cluster and group."""


class GroupState(models.TextChoices):
    """Kafka's group states, in its own spelling."""

    STABLE = "Stable", "Stable"
    PREPARING_REBALANCE = "PreparingRebalance", "Preparing to rebalance"
    COMPLETING_REBALANCE = "CompletingRebalance", "Completing the rebalance"
    ASSIGNING = "Assigning", "Assigning"
    RECONCILING = "Reconciling", "Reconciling"
    EMPTY = "Empty", "Empty"
    DEAD = "Dead", "Dead"


WITHOUT_MEMBERS = (GroupState.EMPTY, GroupState.DEAD)
"""The states in which offsets may be reset and the group deleted."""

STATE_TONES = {
    GroupState.STABLE: "good",
    GroupState.PREPARING_REBALANCE: "busy",
    GroupState.COMPLETING_REBALANCE: "busy",
    GroupState.ASSIGNING: "busy",
    GroupState.RECONCILING: "busy",
    GroupState.EMPTY: "quiet",
    GroupState.DEAD: "bad",
}


class GroupType(models.TextChoices):
    """How a group coordinates itself."""

    CLASSIC = "classic", "Classic"
    CONSUMER = "consumer", "Consumer (KIP-848)"
    SHARE = "share", "Share"
    STREAMS = "streams", "Streams"
    SIMPLE = "simple", "Simple (manual assignment)"


class LagState(models.TextChoices):
    """Where a committed offset stands in its partition."""

    NONE_COMMITTED = "none_committed", "Nothing committed"
    EMPTY = "empty", "Empty partition"
    CAUGHT_UP = "caught_up", "Caught up"
    LAGGING = "lagging", "Lagging"
    BEFORE_LOG_START = "before_log_start", "Committed before the log's start"
    PAST_LOG_END = "past_log_end", "Committed past the log's end"
    UNKNOWN = "unknown", "Unknown"


LAG_STATE_TONES = {
    LagState.NONE_COMMITTED: "quiet",
    LagState.EMPTY: "quiet",
    LagState.CAUGHT_UP: "good",
    LagState.LAGGING: "warning",
    LagState.BEFORE_LOG_START: "bad",
    LagState.PAST_LOG_END: "bad",
    LagState.UNKNOWN: "quiet",
}


class LagStatus(models.TextChoices):
    """How a whole group does. Judged from this moment alone: nothing committed, caught up, lagging, lag without members, an
    offset outside its log, not known. A group that lags while it has members is judged over a window of its commits, and
    then `ok`, `warn`, `stalled`, `stopped` and `rewind` say more than `lagging` does."""

    NONE_COMMITTED = "none_committed", "Nothing committed"
    OK = "ok", "OK"
    LAGGING = "lagging", "Lagging"
    WARN = "warn", "Falls behind"
    STALLED = "stalled", "Stalled"
    STOPPED = "stopped", "Stopped"
    REWIND = "rewind", "Went back"
    OUT_OF_RANGE = "out_of_range", "An offset lies outside its log"
    UNKNOWN = "unknown", "Unknown"


LAG_STATUS_TONES = {
    LagStatus.NONE_COMMITTED: "quiet",
    LagStatus.OK: "good",
    LagStatus.LAGGING: "warning",
    LagStatus.WARN: "warning",
    LagStatus.STALLED: "bad",
    LagStatus.STOPPED: "bad",
    LagStatus.REWIND: "bad",
    LagStatus.OUT_OF_RANGE: "bad",
    LagStatus.UNKNOWN: "quiet",
}


class Outcome(models.TextChoices):
    """How an audited action ended. `started` that stays means that the process died in the middle."""

    STARTED = "started", "Started"
    DONE = "done", "Done"
    PARTLY = "partly", "Partly done"
    FAILED = "failed", "Failed"


class AlertKind(models.TextChoices):
    """What an alert rule looks at."""

    LAG = "lag", "Lag"
    LAG_STATUS = "lag_status", "Lag status"
    FLAPPING = "flapping", "Flapping"
    MEMBER_LOSS = "member_loss", "Too few members"
    NO_MEMBERS = "no_members", "No members"
    NO_COMMITS = "no_commits", "No commits"


class AlertState(models.TextChoices):
    """Where an alert stands: its condition holds, but not for long enough yet; it was told; it is over."""

    PENDING = "pending", "Pending"
    FIRING = "firing", "Firing"
    RESOLVED = "resolved", "Resolved"


ALERT_STATE_TONES = {AlertState.PENDING: "busy", AlertState.FIRING: "bad", AlertState.RESOLVED: "quiet"}


class DeliveryState(models.TextChoices):
    """How far a webhook's message is."""

    WAITING = "waiting", "Waiting"
    DELIVERED = "delivered", "Delivered"
    GIVEN_UP = "given_up", "Given up"


DELIVERY_STATE_TONES = {
    DeliveryState.WAITING: "busy",
    DeliveryState.DELIVERED: "good",
    DeliveryState.GIVEN_UP: "bad",
}


class JobState(models.TextChoices):
    """Where long work stands. A planned job does nothing until somebody starts it."""

    PLANNED = "planned", "Planned"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    PARTLY = "partly", "Partly done"
    CANCELLED = "cancelled", "Cancelled"


JOB_STATE_TONES = {
    JobState.PLANNED: "quiet",
    JobState.RUNNING: "busy",
    JobState.DONE: "good",
    JobState.PARTLY: "warning",
    JobState.CANCELLED: "quiet",
}


class ItemState(models.TextChoices):
    """Where one item of a job stands."""

    WAITING = "waiting", "Waiting"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"


ITEM_STATE_TONES = {ItemState.WAITING: "quiet", ItemState.DONE: "good", ItemState.FAILED: "bad"}
