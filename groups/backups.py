"""Offsets kept before a write takes them away, so that it can be undone.

Job: take, void and claim backups.
Rules: taken before the write; a write that failed voids its backup; a backup is put back once, and the claim decides
between two who try.
Must not know: how offsets are written.
"""

from __future__ import annotations

from collections.abc import Mapping

from django.utils import timezone

from groups.fields import id_digest
from groups.gateway import Committed, Partition
from groups.models import OffsetBackup


def backup_take(
    *, actor: str, action: str, cluster: str, group_id: str, offsets: Mapping[Partition, Committed | None]
) -> OffsetBackup:
    """Keeps the offsets of the partitions that a write will touch; null stands for a partition without one."""
    return OffsetBackup.objects.create(
        actor=actor,
        action=action,
        cluster=cluster,
        group_id=group_id,
        group_digest=id_digest(group_id),
        offsets={
            f"{topic}/{partition}": None if held is None else [held.offset, held.leader_epoch, held.metadata]
            for (topic, partition), held in sorted(offsets.items())
        },
    )


def backup_void(backup: OffsetBackup) -> None:
    """Marks a backup whose write changed nothing."""
    OffsetBackup.objects.filter(pk=backup.pk).update(void=True)


def backup_latest(cluster: str, group_id: str) -> OffsetBackup | None:
    """The newest backup of a group that can still be put back."""
    return OffsetBackup.objects.of_group(cluster, group_id).filter(void=False, used_at=None).first()


def backup_claim(backup: OffsetBackup) -> bool:
    """Claims a backup for putting it back; false when somebody else was first."""
    claimed = OffsetBackup.objects.filter(pk=backup.pk, used_at=None, void=False).update(used_at=timezone.now())
    return claimed == 1


def backup_release(backup: OffsetBackup) -> None:
    """Gives a claimed backup free again, because putting it back changed nothing."""
    OffsetBackup.objects.filter(pk=backup.pk).update(used_at=None)


def backup_offsets(backup: OffsetBackup) -> dict[Partition, Committed | None]:
    """What a backup holds."""
    kept = {}
    for place, held in backup.offsets.items():
        topic, _, partition = place.rpartition("/")
        kept[topic, int(partition)] = (
            None if held is None else Committed(offset=held[0], leader_epoch=held[1], metadata=held[2])
        )
    return kept
