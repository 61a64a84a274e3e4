"""groups.backups."""

from __future__ import annotations

import pytest

from groups.backups import backup_claim, backup_latest, backup_offsets, backup_release, backup_take, backup_void
from groups.gateway import Committed

pytestmark = pytest.mark.django_db

OFFSETS = {("orders", 0): Committed(offset=4, leader_epoch=2, metadata="m"), ("a/b", 1): None}


def take(group_id="shop", offsets=OFFSETS):
    return backup_take(actor="ann", action="x", cluster="local", group_id=group_id, offsets=offsets)


def test_what_is_kept_comes_back_as_it_was():
    take()
    assert backup_offsets(backup_latest("local", "shop")) == OFFSETS
    assert backup_latest("local", "other") is None and backup_latest("prod", "shop") is None


def test_the_newest_one_that_can_be_used_counts():
    one, two, three = take(), take(), take()
    assert backup_latest("local", "shop") == three
    backup_void(three)
    assert backup_latest("local", "shop") == two
    assert backup_claim(two) and backup_latest("local", "shop") == one


def test_one_is_put_back_once_unless_nothing_came_of_it():
    backup = take()
    assert backup_claim(backup) and not backup_claim(backup)
    backup_release(backup)
    assert backup_claim(backup)


def test_one_that_is_void_cannot_be_claimed():
    backup = take()
    backup_void(backup)
    assert not backup_claim(backup)
