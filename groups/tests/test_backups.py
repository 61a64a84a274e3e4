"""groups.backups."""

from __future__ import annotations

import uuid

import pytest

from groups.backups import (
    backup_claim,
    backup_latest,
    backup_offsets,
    backup_release,
    backup_take,
    backup_take_back,
    backup_void,
)
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


def test_the_writes_of_one_work_share_a_backup_and_the_first_offset_counts():
    work, later = uuid.uuid4(), {("orders", 0): Committed(offset=9), ("orders", 1): Committed(offset=1)}
    one = backup_take(actor="ann", action="x", cluster="local", group_id="shop", offsets=OFFSETS, work=work)
    two = backup_take(actor="ann", action="x", cluster="local", group_id="shop", offsets=later, work=work)
    assert one == two and backup_offsets(backup_latest("local", "shop")) == {**later, **OFFSETS}
    backup_take_back(two, later)
    assert backup_offsets(backup_latest("local", "shop")) == {("a/b", 1): None}
    assert backup_claim(two)
    three = backup_take(actor="ann", action="x", cluster="local", group_id="shop", offsets=later, work=work)
    assert three != two
    backup_take_back(three, later)
    assert backup_latest("local", "shop") is None


def test_one_that_is_void_cannot_be_claimed():
    backup = take()
    backup_void(backup)
    assert not backup_claim(backup)
