"""The clean-up of the broker's files: what went is in the audit, and no volume is no fault."""

from __future__ import annotations

import dataclasses
import os

import pytest

from groups.models import AuditRow
from kaas.cluster import assignment
from kaas.cluster.alone import take_over
from kaas.cluster.assignment import BrokerEntry
from offsets.cleanup import files_sweep

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path, settings):
    settings.KAAS = dataclasses.replace(settings.KAAS, data=tmp_path, broker_set="offsets.retention.minutes=60")
    return tmp_path / "__cluster"


def test_without_a_volume_nothing_happens(folder):
    assert files_sweep() is None and not folder.exists()


def test_what_went_is_in_the_audit(folder):
    take_over(folder, BrokerEntry(id=1, host="h", listeners=(), state="alive", last_seen=0), 0)
    debris = folder / ".assignment.json.00.tmp"
    debris.touch()
    os.utime(debris, (0, 0))
    swept = files_sweep()
    assert swept is not None and swept.temporary == 1 and not debris.exists()
    row = AuditRow.objects.get()
    assert (row.actor, row.action, row.outcome) == ("sweep", "files_sweep", "done")
    assert row.after == {"temporary": 1, "tombstones": 0, "journals": 0}


def test_a_round_that_finds_nothing_leaves_no_row(folder):
    take_over(folder, BrokerEntry(id=1, host="h", listeners=(), state="alive", last_seen=0), 0)
    files_sweep()
    assert not AuditRow.objects.exists() and assignment.read(folder) is not None
