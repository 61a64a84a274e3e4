"""groups.audit."""

from __future__ import annotations

import pytest

from groups.audit import audited
from groups.choices import Outcome
from groups.models import AuditRow

pytestmark = pytest.mark.django_db


def test_a_row_stands_before_the_action_and_is_completed_after_it():
    with audited(actor="ann", action="x", cluster="local", group_id="g", before=[1]) as row:
        seen = AuditRow.objects.get()
        assert seen.outcome == Outcome.STARTED and seen.before == [1]
        row.after = [2]
    row = AuditRow.objects.get()
    assert (row.outcome, row.after, row.message) == (Outcome.DONE, [2], "")


def test_a_failure_completes_it_too_and_goes_on():
    with pytest.raises(ZeroDivisionError), audited(actor="ann", action="x"):
        raise ZeroDivisionError("no\x00way")
    row = AuditRow.objects.get()
    assert (row.outcome, row.message) == (Outcome.FAILED, "no\x00way")


def test_what_was_done_in_part_says_so():
    with audited(actor="ann", action="x") as row:
        row.outcome = Outcome.PARTLY
    assert AuditRow.objects.get().outcome == Outcome.PARTLY
