"""Checkpoints and journals into state: a restart, a crash at any point, and a move from another broker are one case."""

from __future__ import annotations

import errno
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaas.coordinator.classic.states import State
from kaas.coordinator.offset_entry import OffsetEntry
from kaas.coordinator.records import (
    OFFSET_RECORDS,
    GenerationReserved,
    GroupDeleted,
    GroupEmpty,
    GroupStable,
    MemberReplaced,
    OffsetsCommitted,
    OffsetsDeleted,
    OffsetsStaged,
    StagedEnded,
    StoredMember,
)
from kaas.storage.journal import encode_entry
from kaas.storage.load import Needs
from tests.support.consumer_records import T, changed
from tests.support.consumer_records import member as reader
from tests.support.laws import law
from tests.support.volume import WALL_OFFSET_MS, Change, Volume, durable, replayed

LONG = "team/" + "x" * 400
DELETED = GroupDeleted(9, "deleted")


@pytest.fixture
def volume(tmp_path):
    return Volume(tmp_path)


def member(member_id: str, instance_id: str | None = None) -> StoredMember:
    return StoredMember(member_id, instance_id, "c", "/h", 10_000, 60_000, (("range", b""),), b"share", 5)


def stable(generation: int, *names: str) -> GroupStable:
    rows = [member(name, f"i{name[:1]}") for name in names or ("a",)]
    return GroupStable(generation, "consumer", "range", rows[0].member_id, rows, 7_000)


def commit(version: int, offset: int, partition: int = 0, group_id: str = "g", epoch: int = 1) -> Change:
    record = OffsetsCommitted([("t", partition, OffsetEntry(offset, -1, "", 5))])
    return Change(group_id, version, record, epoch)


def offset(found, group_id: str = "g", partition: int = 0) -> int | None:
    entry = found.groups[group_id].offset("t", partition)
    return None if entry is None else entry.offset


# Journal and checkpoint


def test_an_empty_volume_has_no_groups(volume):
    found = volume.load()
    assert (found.groups, dict(found.broken), found.faults, found.needed) == ({}, {}, [], {})


def test_groups_come_from_the_journal_alone(volume):
    volume.journal(Change("g", 1, stable(3, "a", "b")), commit(2, 5))
    group = volume.load().groups["g"]
    assert (group.classic.state, group.classic.generation, list(group.classic.members)) == (State.STABLE, 3, ["a", "b"])
    assert (group.epoch, group.version) == (1, 2)
    assert group.classic.state_since_ms == 7_000 - WALL_OFFSET_MS


def test_groups_come_from_checkpoints_alone(volume):
    """K21: a group known by its offsets file alone was not listed."""
    volume.checkpoint(commit(1, 5), membership=False)
    found = volume.load()
    assert offset(found) == 5 and found.groups["g"].classic.state is State.EMPTY
    assert (found.groups["g"].epoch, found.groups["g"].version) == (1, 1)
    assert found.needed == {}


def test_what_is_newer_than_the_checkpoint_is_applied_and_what_is_older_is_not(volume):
    volume.checkpoint(commit(1, 10), commit(2, 20), membership=False)
    path = volume.journal(commit(1, 10), commit(2, 20), commit(3, 30, partition=1))
    found = volume.load()
    assert (offset(found), offset(found, partition=1)) == (20, 30)
    assert found.needed == {path: Needs({"g": (1, 3)})}


def test_a_journal_file_of_ours_that_the_checkpoints_cover_is_needed_by_nobody(volume):
    """Otherwise each life would leave one behind, and each start would read them all."""
    path = volume.journal(commit(1, 10))
    other = volume.journal(commit(1, 10), broker="2")
    volume.checkpoint(commit(1, 10))
    found = volume.load()
    assert offset(found) == 10 and found.needed == {path: Needs()} and other.exists()


def test_a_journal_file_with_an_entry_of_a_later_version_is_never_dropped(volume):
    path = volume.journal(commit(1, 10))
    path.write_bytes(path.read_bytes() + encode_entry("g", 1, 2, b"of the future"))
    volume.checkpoint(commit(1, 10))
    found = volume.load()
    assert "g" in found.broken and path not in found.needed


def test_the_two_files_of_a_group_may_be_of_different_age(volume):
    changes = [
        Change("g", 1, stable(3)),
        commit(2, 20),
        Change("g", 3, GroupEmpty(4, "consumer", 9_000)),
        commit(4, 40),
    ]
    volume.checkpoint(*changes[:1], offsets=False)
    volume.checkpoint(*changes[:2], membership=False)
    volume.journal(*changes)
    assert durable(volume.load().groups) == durable(replayed(changes))


def test_entries_of_every_broker_count_in_the_order_of_epoch_and_version(volume):
    volume.journal(commit(9, 100, epoch=1), broker="1")
    volume.journal(commit(1, 200, epoch=2), broker="2")
    assert offset(volume.load(broker="3")) == 200
    volume.journal(commit(9, 100, epoch=3), broker="1")
    assert offset(volume.load(broker="3")) == 100


def test_the_files_of_one_broker_are_read_in_order(volume):
    volume.journal(commit(1, 10), number=1)
    volume.journal(commit(2, 20), number=2)
    assert offset(volume.load()) == 20


def test_the_newest_epoch_is_that_of_anything_on_the_volume(volume):
    """What is written in a lower one would count as older than what is there."""
    volume.checkpoint(commit(1, 10, epoch=41), membership=False)
    volume.journal(commit(1, 10, epoch=7))
    assert volume.load().newest_epoch == 41
    volume.journal(Change("h", 1, DELETED, epoch=42))
    assert volume.load().newest_epoch == 42


def test_a_consumer_group_comes_from_its_checkpoint_and_what_is_newer_in_the_journal(volume):
    first = Change("g", 1, changed(1, members=[reader("a", assigned={T: (0, 1)})], whole=True))
    second = Change("g", 2, changed(2, members=[reader("b", epoch=2)]))
    volume.checkpoint(first)
    volume.journal(first, second)
    group = volume.load().groups["g"]
    assert [(m.member_id, m.epoch) for m in group.modern.members.values()] == [("a", 1), ("b", 2)]
    assert (group.modern.epoch, group.modern.owners) == (2, {(T, 0): "a", (T, 1): "a"})


# Deleted groups


def test_a_tombstone_in_the_journal_ends_what_checkpoints_hold(volume):
    """Readers of offsets that met a tombstone died of it.

    https://github.com/yahoo/CMAK/issues/494
    https://github.com/yahoo/CMAK/issues/643
    """
    volume.checkpoint(Change("g", 1, stable(3)), commit(2, 5))
    path = volume.journal(Change("g", 3, DELETED))
    found = volume.load()
    assert found.groups == {} and found.needed == {path: Needs({"g": (1, 3)})}


def test_an_offsets_file_that_is_older_than_the_tombstone_file_is_debris(volume):
    volume.checkpoint(commit(1, 5), membership=False)
    data = volume.offsets_path("g").read_bytes()
    volume.checkpoint(commit(1, 5), Change("g", 2, DELETED))
    volume.offsets_path("g").write_bytes(data)
    assert volume.load().groups == {}


def test_a_group_that_came_back_has_nothing_of_its_former_life(volume):
    changes = [Change("g", 1, stable(3)), commit(2, 5), Change("g", 3, DELETED), commit(4, 40, partition=1)]
    volume.checkpoint(*changes[:3])
    volume.journal(*changes)
    group = volume.load().groups["g"]
    assert (group.keys(), group.classic.generation, group.stored) == ([("t", 1)], 0, None)


def test_a_crash_between_the_two_files_of_a_group_that_came_back_loses_nothing(volume):
    """The offsets file, which is written first, is of the new life, the other of the old one; the tombstone between
    them is in the journal."""
    changes = [
        Change("g", 1, stable(3)),
        commit(2, 5),
        Change("g", 3, DELETED),
        commit(4, 40),
        Change("g", 5, GenerationReserved(1)),
    ]
    volume.checkpoint(*changes[:2])
    volume.checkpoint(*changes, membership=False)
    volume.journal(*changes)
    found = volume.load()
    assert durable(found.groups) == durable(replayed(changes))
    assert offset(found) == 40


def test_entries_of_a_former_life_that_other_groups_keep_in_the_journal_do_not_come_back(volume):
    """The tombstone's own file is gone, as everything in it was covered; the group has members and no offsets since."""
    old, joined = commit(1, 5), Change("g", 4, GenerationReserved(1))
    volume.checkpoint(old, Change("g", 2, DELETED))
    volume.checkpoint(old, Change("g", 2, DELETED), joined, offsets=False)
    volume.journal(old, commit(3, 7, group_id="other"))
    assert volume.load().groups["g"].keys() == []


def test_an_offsets_file_of_a_former_life_does_not_come_back_beside_a_new_group_file(volume):
    old, end, joined = commit(1, 5), Change("g", 2, DELETED), Change("g", 3, GenerationReserved(1))
    volume.checkpoint(old, membership=False)
    data = volume.offsets_path("g").read_bytes()
    volume.checkpoint(old, end)
    volume.offsets_path("g").write_bytes(data)  # the broker died before it was removed
    volume.checkpoint(old, end, joined, offsets=False)
    assert volume.load().groups["g"].keys() == []


# What cannot be read


def test_a_corrupt_offsets_file_is_set_aside_and_its_group_is_broken_and_stays_so(volume):
    """K8: it counted as empty and was overwritten."""
    volume.checkpoint(commit(1, 5), membership=False)
    volume.journal(commit(2, 6), commit(3, 7, group_id="fine"))
    path = volume.offsets_path("g")
    path.write_bytes(path.read_bytes()[:-5])
    for _ in range(2):
        found = volume.load()
        assert list(found.broken) == ["g"] and "g" not in found.groups and offset(found, "fine") == 7
        assert not path.exists() and path.with_name("g.json.corrupt").exists()
        assert any("g.json" in fault for fault in found.faults)


def test_a_corrupt_group_file_breaks_its_group_too(volume):
    volume.checkpoint(Change("g", 1, stable(3)), commit(2, 5))
    volume.group_path("g").write_bytes(b"{}")
    found = volume.load()
    assert list(found.broken) == ["g"] and found.groups == {}


@pytest.mark.parametrize("group_id", ["x.json.y", "a.corrupt", "dc/1", "", LONG, ".corrupt", "a.json.corrupt-2"])
def test_a_broken_group_is_known_by_the_name_of_its_file_whatever_its_id(volume, group_id):
    volume.checkpoint(commit(1, 5, group_id=group_id), membership=False)
    volume.checkpoint(commit(1, 5, group_id="x"), membership=False)
    volume.offsets_path(group_id).write_bytes(b"?")
    for _ in range(2):
        found = volume.load()
        assert group_id in found.broken and len(found.broken) == 1
        assert list(found.groups) == ["x"]


def test_an_operator_repairs_a_group_by_putting_a_good_file_in_its_place(volume):
    volume.checkpoint(commit(1, 5), membership=False)
    good = volume.offsets_path("g").read_bytes()
    volume.offsets_path("g").write_bytes(b"?")
    assert "g" in volume.load().broken
    volume.offsets_path("g").write_bytes(good)
    found = volume.load()
    assert not found.broken and offset(found) == 5


def test_an_operator_gives_a_group_up_by_removing_the_file_that_was_set_aside(volume):
    volume.checkpoint(commit(1, 5), membership=False)
    volume.offsets_path("g").write_bytes(b"?")
    assert "g" in volume.load().broken
    volume.offsets_path("g").with_name("g.json.corrupt").unlink()
    assert not volume.load().broken


def test_one_file_that_the_disk_refuses_breaks_its_group_and_no_other(volume):
    volume.checkpoint(commit(1, 5), membership=False)
    volume.checkpoint(commit(1, 5, group_id="fine"), membership=False)
    read = Path.read_bytes

    def refusing(path):
        if path.name == "g.json":
            raise OSError(errno.EIO, "bad sector")
        return read(path)

    with mock.patch.object(Path, "read_bytes", refusing):
        found = volume.load()
    assert list(found.broken) == ["g"] and offset(found, "fine") == 5
    assert volume.offsets_path("g").exists()


def test_a_copy_of_a_checkpoint_under_another_name_is_not_mixed_with_it(volume):
    volume.checkpoint(commit(1, 5), commit(2, 6, partition=1), membership=False)
    copy = volume.offsets_path("g").read_bytes()
    gone = Change("g", 3, OffsetsDeleted([("t", 1)], "deleted"))
    volume.checkpoint(commit(1, 5), commit(2, 6, partition=1), gone, membership=False)
    for name in ("a copy.json", "z copy.json"):
        volume.offsets_path("g").with_name(name).write_bytes(copy)
    assert volume.load().groups["g"].keys() == [("t", 0)]


def test_files_that_are_no_checkpoints_are_left_alone(volume):
    volume.checkpoint(commit(1, 5), membership=False)
    for name in (".g.json.0123456789abcdef.tmp", "notes.txt", "g.json.bak"):
        volume.offsets_path("g").with_name(name).write_bytes(b"?")
    found = volume.load()
    assert list(found.groups) == ["g"] and not found.broken


# Damaged journals


def test_a_torn_end_is_cut_off_and_told(volume):
    path = volume.journal(commit(1, 5), tail=commit(2, 6).packed()[:-3])
    found = volume.load()
    assert offset(found) == 5 and not found.broken
    assert len(found.faults) == 1 and "torn" in found.faults[0]
    assert path.read_bytes() == commit(1, 5).packed()
    assert volume.load().faults == []


def test_the_torn_end_of_another_brokers_journal_is_left_to_it(volume):
    path = volume.journal(commit(1, 5), broker="2", tail=b"\0\0")
    before = path.read_bytes()
    assert offset(volume.load(broker="1")) == 5
    assert path.read_bytes() == before


def test_a_corrupt_entry_breaks_its_group_and_sets_the_file_aside(volume):
    first, second, third = commit(1, 5), commit(2, 6, group_id="hit"), commit(3, 7, group_id="other")
    data = bytearray(second.packed())
    data[-1] ^= 1
    path = volume.journal(first, tail=bytes(data) + third.packed())
    for _ in range(2):
        found = volume.load()
        assert list(found.broken) == ["hit"]
        assert (offset(found), offset(found, "other")) == (5, 7)
        aside = path.with_name(path.name + ".corrupt")
        assert not path.exists() and aside.exists()
        assert found.needed == {aside: Needs({"g": (1, 1), "other": (1, 3)})}


def test_a_corrupt_entry_that_checkpoints_cover_breaks_nothing(volume):
    changes = [Change("g", 1, stable(3)), commit(2, 5)]
    data = bytearray(changes[1].packed())
    data[-1] ^= 1
    volume.checkpoint(*changes)
    volume.journal(changes[0], tail=bytes(data) + commit(3, 7, group_id="other").packed())
    found = volume.load()
    assert not found.broken and offset(found) == 5 and len(found.faults) >= 1


def test_groups_behind_a_length_that_cannot_be_trusted_are_broken_unless_covered(volume):
    first, hit, behind, covered = (
        commit(n, n, group_id=name) for n, name in enumerate(["first", "hit", "behind", "covered"], 1)
    )
    empty = Change("covered", 5, GroupEmpty(1, "consumer", 9_000))
    volume.checkpoint(covered, empty)
    volume.journal(first, tail=b"\x7f" + hit.packed()[1:] + behind.packed() + covered.packed())
    found = volume.load()
    assert "behind" in found.broken and "covered" not in found.broken
    assert offset(found, "first") == 1 and offset(found, "covered") == 4


def test_a_file_that_was_set_aside_has_no_torn_end_when_it_is_read_again(volume):
    """Otherwise an entry that nobody was told of would break its group once a newer file is there."""
    data = bytearray(commit(1, 5, group_id="hit").packed())
    data[-1] ^= 1
    volume.journal(tail=bytes(data) + commit(2, 6).packed() + commit(3, 7, group_id="torn").packed()[:-2])
    assert list(volume.load().broken) == ["hit"]
    volume.journal(commit(4, 8), number=2)
    found = volume.load()
    assert list(found.broken) == ["hit"] and offset(found) == 8


def test_a_corrupt_journal_of_another_broker_is_told_and_left_in_its_place(volume):
    data = bytearray(commit(1, 5, group_id="hit").packed())
    data[-1] ^= 1
    path = volume.journal(broker="2", tail=bytes(data) + commit(2, 6).packed())
    found = volume.load(broker="1")
    assert list(found.broken) == ["hit"] and offset(found) == 6 and path.exists()


def test_an_entry_that_is_no_record_breaks_its_group(volume):
    volume.journal(commit(1, 5), tail=encode_entry("odd", 1, 2, b"\xc1") + commit(3, 6).packed())
    found = volume.load()
    assert list(found.broken) == ["odd"] and offset(found) == 6


def test_a_journal_file_that_its_broker_drops_meanwhile_is_covered(volume):
    path = volume.journal(commit(1, 5), broker="2")
    read = Path.read_bytes

    def dropping(self):
        if self == path:
            volume.checkpoint(commit(1, 5), membership=False)
            self.unlink()
        return read(self)

    with mock.patch.object(Path, "read_bytes", dropping):
        found = volume.load(broker="1")
    assert offset(found) == 5


def test_a_journal_that_the_disk_refuses_is_an_error_of_the_load(volume):
    path = volume.journal(commit(1, 5))
    with (
        mock.patch.object(Path, "read_bytes", side_effect=OSError(errno.EIO, "bad sector")),
        pytest.raises(OSError, match="bad sector"),
    ):
        volume.load()
    assert path.stat().st_size


# Laws


@st.composite
def histories(draw):
    """Changes of two groups, some of them deleted and made anew. Generations grow, as those of a coordinator do."""
    rows = draw(st.lists(st.tuples(st.sampled_from(["g", "h"]), st.sampled_from(KINDS), small, small), max_size=20))
    return [Change(group_id, n, kind(n, a, b)) for n, (group_id, kind, a, b) in enumerate(rows, 1)]


small = st.integers(0, 3)
KINDS = (
    lambda n, a, b: OffsetsCommitted([("t", a, OffsetEntry(b, -1, "", 5))]),
    lambda n, a, b: OffsetsDeleted([("t", a)], "deleted"),
    lambda n, a, b: GenerationReserved(n),
    lambda n, a, b: stable(n, f"m{a}", "b"),
    lambda n, a, b: GroupEmpty(n, "consumer", 9_000),
    lambda n, a, b: MemberReplaced(f"m{a}", member(f"m{n + 10}", "im")),
    lambda n, a, b: OffsetsStaged(a, b, [("t", b, OffsetEntry(n, -1, "", 5)), ("t", 0, OffsetEntry(n, -1, "", 6))]),
    lambda n, a, b: StagedEnded(a, b > 1),
    lambda n, a, b: changed(n, members=[reader(f"m{a}"), reader("b", assigned={T: (b,)})], whole=True),
    lambda n, a, b: changed(n, members=[reader(f"m{a}", assigned={T: (b,)})], gone=[f"m{b}"], targets={"b": {T: (a,)}}),
    lambda n, a, b: DELETED,
)


def leave_checkpoints(volume: Volume, mine: list[Change], data: st.DataObject) -> int:
    """The files of one group as one job after another left them; how many of the changes both files cover."""
    covered = 0
    for cut in sorted(data.draw(st.lists(st.integers(0, len(mine)), max_size=3))):
        offsets, membership = changed_parts(mine[covered:cut])
        if not has_files(mine[:cut]) or not (offsets or membership):
            continue
        if not data.draw(st.booleans()):
            volume.checkpoint(*mine[:cut], offsets=offsets, membership=membership)
        elif ends(mine[:cut]):
            cut_short_after_tombstone(volume, mine[:cut])
        else:  # the broker dies before the group file; the next one writes both files anew
            volume.checkpoint(*mine[:cut], offsets=offsets, membership=False)
            return covered
        covered = cut
    return covered


def cut_short_after_tombstone(volume: Volume, mine: list[Change]) -> None:
    """The offsets file was to be removed next."""
    path = volume.offsets_path(mine[0].group_id)
    before = path.read_bytes() if path.exists() else None
    volume.checkpoint(*mine)
    if before is not None:
        path.write_bytes(before)


def changed_parts(changes: list[Change]) -> tuple[bool, bool]:
    """Whether offsets and membership are due after these changes; a tombstone makes both due."""
    ended = any(isinstance(change.record, GroupDeleted) for change in changes)
    of_offsets = [isinstance(change.record, OFFSET_RECORDS) for change in changes]
    return ended or any(of_offsets), ended or not all(of_offsets)


def has_files(mine: list[Change]) -> bool:
    """Whether a broker has files to write for a group after these changes."""
    return bool(mine) and (mine[-1].group_id in replayed(mine) or ends(mine))


def ends(mine: list[Change]) -> bool:
    return isinstance(mine[-1].record, GroupDeleted)


@given(histories(), st.data())
@law
def test_a_load_equals_a_replay_of_everything_for_any_cut_between_checkpoint_and_journal(
    tmp_path_factory, changes, data
):
    volume = Volume(tmp_path_factory.mktemp("volume"))
    kept = []
    for group_id in ("g", "h"):
        mine = [change for change in changes if change.group_id == group_id]
        covered = leave_checkpoints(volume, mine, data)
        kept += [change for n, change in enumerate(mine) if n >= covered or data.draw(st.booleans())]
    kept.sort(key=lambda change: change.order)
    middle = data.draw(st.integers(0, len(kept)))
    volume.journal(*kept[:middle], number=1)
    volume.journal(*kept[middle:], number=2, tail=commit(99, 1).packed()[: data.draw(st.integers(0, 20))])
    found = volume.load()
    assert not found.broken
    assert durable(found.groups) == durable(replayed(changes))
