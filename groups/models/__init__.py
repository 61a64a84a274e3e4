"""What the console keeps in its database: rights, audit rows, history, lag over time, alerts, jobs, undo."""

from groups.models.access import Identity, RoleBinding, Token
from groups.models.alerts import Alert, AlertRule, Delivery, Webhook
from groups.models.audit import AuditRow, IdempotentRequest
from groups.models.backup import BackupOfWork, OffsetBackup
from groups.models.history import FeedPosition, Rebalance
from groups.models.jobs import Job, JobItem
from groups.models.lag import LagChunk, LagClock, LagTick

__all__ = [
    "Alert",
    "AlertRule",
    "AuditRow",
    "BackupOfWork",
    "Delivery",
    "FeedPosition",
    "IdempotentRequest",
    "Identity",
    "Job",
    "JobItem",
    "LagChunk",
    "LagClock",
    "LagTick",
    "OffsetBackup",
    "Rebalance",
    "RoleBinding",
    "Token",
    "Webhook",
]
