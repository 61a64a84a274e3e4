"""The settings that decide what a coordinator does, by Kafka's names.

Rules: values are checked where they come in (kaas.broker.settings); here they are only read. Times are milliseconds and may
be far below Apache's minimums, so that tests and demos need not wait.
Source: Apache Kafka 4.2 `GroupCoordinatorConfig`; the defaults are Apache's.
"""

from __future__ import annotations

from enum import Enum

import msgspec

FOREVER = 2**31 - 1


class MigrationPolicy(Enum):
    """Which way a group with members may change its protocol, by the words of `group.consumer.migration.policy`."""

    BIDIRECTIONAL = "bidirectional"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    DISABLED = "disabled"

    @property
    def upgrades(self) -> bool:
        """A member under KIP-848 may join classic ones."""
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.UPGRADE)

    @property
    def downgrades(self) -> bool:
        """Classic members may be left without one under KIP-848."""
        return self in (MigrationPolicy.BIDIRECTIONAL, MigrationPolicy.DOWNGRADE)


class CoordinatorConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Each field is the setting of the same name, dots instead of underscores and `group.` or `offsets.` before it."""

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = FOREVER
    new_member_join_timeout_ms: int = 300_000
    consumer_session_timeout_ms: int = 45_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_max_size: int = FOREVER
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    consumer_migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    consumer_regex_refresh_interval_ms: int = 600_000
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_ms: int = 10_080 * 60_000
    offsets_retention_check_interval_ms: int = 600_000
    transaction_max_timeout_ms: int = 900_000
    transactional_id_expiration_ms: int = 604_800_000
    transaction_remove_expired_interval_ms: int = 3_600_000


class GroupConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What one group has for itself (KIP-1043); null is what all groups have."""

    consumer_session_timeout_ms: int | None = None
    consumer_heartbeat_interval_ms: int | None = None
