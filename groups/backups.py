"""Offsets kept before a write takes them away, so that it can be undone.

Job: take, void and claim backups.
Rules: taken before the write; a write that failed takes back what it kept; a backup is put back once, and the claim decides
between two who try. Writes of one piece of work share a backup, as long as nobody put it back in the meantime.
Must not know: how offsets are written.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from groups.fields import id_digest
from groups.gateway import Committed, Partition
from groups.models import BackupOfWork, OffsetBackup


def backup_take(
    *,
    actor: str,
    action: str,
    cluster: str,
    group_id: str,
    offsets: Mapping[Partition, Committed | None],
    work: uuid.UUID | None = None,
) -> OffsetBackup:
    """Keeps the offsets of the partitions that a write will touch; null stands for a partition without one. `work` names
    the piece of work that this write is a part of."""
    kept = _plain(offsets)
    with transaction.atomic():
        if work is not None and (begun := _backup_of(work)) is not None:
            begun.offsets = {**kept, **begun.offsets}  # what was there first is what undo puts back
            begun.save(update_fields=["offsets"])
            return begun
        made = _made(actor=actor, action=action, cluster=cluster, group_id=group_id, offsets=kept)
        if work is not None:
            BackupOfWork.objects.update_or_create(work=work, defaults={"backup": made})
    return made


def _backup_of(work: uuid.UUID) -> OffsetBackup | None:
    """The backup of a piece of work, unless it was put back."""
    usable = OffsetBackup.objects.select_for_update().filter(void=False, used_at=None)
    return usable.filter(backupofwork__work=work).first()


def _made(*, actor: str, action: str, cluster: str, group_id: str, offsets: Mapping[str, object]) -> OffsetBackup:
    return OffsetBackup.objects.create(
        actor=actor,
        action=action,
        cluster=cluster,
        group_id=group_id,
        group_digest=id_digest(group_id),
        offsets=offsets,
    )


def _plain(offsets: Mapping[Partition, Committed | None]) -> dict[str, object]:
    return {
        _key(place): None if held is None else [held.offset, held.leader_epoch, held.metadata]
        for place, held in sorted(offsets.items())
    }


def _key(place: Partition) -> str:
    return f"{place[0]}/{place[1]}"


def backup_take_back(backup: OffsetBackup, places: Iterable[Partition]) -> None:
    """Forgets what was kept of partitions that were not written after all; a backup of nothing is void."""
    gone = {_key(place) for place in places}
    left = {key: held for key, held in backup.offsets.items() if key not in gone}
    OffsetBackup.objects.filter(pk=backup.pk).update(**({"offsets": left} if left else {"void": True}))


def backup_void(backup: OffsetBackup) -> None:
    """Marks a backup whose write changed nothing."""
    OffsetBackup.objects.filter(pk=backup.pk).update(void=True)


def backups_usable(cluster: str, group_id: str) -> QuerySet[OffsetBackup]:
    """The backups of a group that can still be put back, the newest first."""
    return OffsetBackup.objects.of_group(cluster, group_id).filter(void=False, used_at=None)


def backup_latest(cluster: str, group_id: str) -> OffsetBackup | None:
    """The newest backup of a group that can still be put back."""
    return backups_usable(cluster, group_id).first()


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
