"""Disks that are full, read-only, or hold what a crash left half done."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from kaas.storage.journal import HEAD, encode_entry
from tests.conformance.oracle.calls import ask, create_topic
from tests.conformance.oracle.groups import commit_code, committed, delete_groups, state
from tests.conformance.oracle.records import batch, end_offset, fetch, produce, values
from tests.conformance.oracle.wire import Client
from tests.support.limits import give_room, obey_permissions, room_for, take_room
from tests.support.waiting import until

SLOW_CHECKPOINTS = {"kaas.checkpoint.interval.ms": 3_600_000}
QUICK_CHECKPOINTS = {"kaas.checkpoint.interval.ms": 10}
COORDINATOR_NOT_AVAILABLE, STORAGE_ERROR = 15, 56


@contextlib.contextmanager
def connected(broker: Any) -> Any:
    """A connection to a broker that has loaded its groups."""
    with Client(broker.address) as client:
        until(lambda: ask(client, "ListGroups", 5).error_code == 0)
        yield client


def journal_files(broker: Any) -> list[Path]:
    return sorted((broker.data / "__cluster" / "__journal" / "1").glob("*.log"))


def offsets_file(broker: Any, group: str = "g") -> Path:
    return broker.data / "__cluster" / "__consumer_offsets" / f"{group}.json"


def stored(broker: Any, group: str = "g") -> dict[str, int] | None:
    """The offsets in a group's file, null while there is none."""
    path = offsets_file(broker, group)
    return json.loads(path.read_text())["offsets"] if path.exists() else None


def commit_until_refused(client: Client, topic: str) -> int:
    """Commits one offset after another; the first that was refused."""
    for offset in range(1, 10_000):
        if commit_code(client, "g", topic, offset=offset):
            return offset
    raise AssertionError("the disk never filled")


# Full


def test_a_full_disk_refuses_commits_and_nothing_else_and_takes_them_again_when_there_is_room(start_broker):
    broker = start_broker(SLOW_CHECKPOINTS, before=room_for(200_000))
    with connected(broker) as client:
        topic = create_topic(client)
        take_room(broker.pid, 20_000)
        refused = commit_until_refused(client, topic)
        for _ in range(3):
            assert commit_code(client, "g", topic, offset=99) == COORDINATOR_NOT_AVAILABLE
        assert committed(client, "g")[topic, 0].offset == refused - 1, "what was refused is not there"
        assert state(client, "g") == "Empty"
        assert "the journal cannot be written" in broker.log

        give_room(broker.pid)
        assert commit_code(client, "g", topic, offset=77) == 0
        assert "the journal can be written again" in broker.log
    broker.restart()
    with connected(broker) as client:
        assert committed(client, "g")[topic, 0].offset == 77


def test_what_a_full_disk_refused_does_not_come_back_after_a_crash(start_broker):
    broker = start_broker(SLOW_CHECKPOINTS, before=room_for(200_000))
    with connected(broker) as client:
        topic = create_topic(client)
        take_room(broker.pid, 20_000)
        refused = commit_until_refused(client, topic)
    broker.restart()
    with connected(broker) as client:
        assert committed(client, "g")[topic, 0].offset == refused - 1


def test_a_full_disk_refuses_records_and_reads_go_on(start_broker):
    broker = start_broker(before=room_for(2_000_000))
    with connected(broker) as client:
        topic = create_topic(client)
        assert produce(client, topic, batch("kept")).error_code == 0
        take_room(broker.pid, 100_000)
        codes = [int(produce(client, topic, batch("x" * 30_000)).error_code) for _ in range(6)]
        assert codes[0] == 0 and codes[-1] == STORAGE_ERROR
        kept = end_offset(client, topic)
        assert values(fetch(client, topic))[0] == (0, "kept")

        give_room(broker.pid)
        until(lambda: produce(client, topic, batch("again")).error_code == 0)
        assert values(fetch(client, topic, kept)) == [(kept, "again")]


# Read-only


def test_a_folder_that_becomes_read_only_refuses_commits_until_it_is_writable(start_broker):
    broker = start_broker(QUICK_CHECKPOINTS | {"kaas.journal.roll.bytes": 4_096}, before=obey_permissions)
    with connected(broker) as client:
        topic = create_topic(client)
        assert commit_code(client, "g", topic, offset=1) == 0
        until(lambda: stored(broker) == {f"{topic}/0": 1})
        folders = [path for path in broker.data.rglob("*") if path.is_dir()] + [broker.data]
        for folder in folders:
            folder.chmod(0o555)
        try:
            refused = commit_until_refused(client, topic)
            assert committed(client, "g")[topic, 0].offset == refused - 1
        finally:
            for folder in folders:
                folder.chmod(0o755)
        until(lambda: commit_code(client, "g", topic, offset=500) == 0)
        until(lambda: stored(broker) == {f"{topic}/0": 500})


# What a crash left


@pytest.mark.parametrize("tail", ["head", "body", "checksum"])
def test_a_torn_end_of_the_journal_is_cut_off(start_broker, tail):
    broker = start_broker(SLOW_CHECKPOINTS)
    with connected(broker) as client:
        topic = create_topic(client)
        for offset in range(5):
            assert commit_code(client, "g", topic, offset=offset) == 0
    broker.kill()
    (path,) = journal_files(broker)
    whole = path.read_bytes()
    entry = encode_entry("g", 9, 9, b"never acknowledged")
    path.write_bytes(whole + {"head": entry[: HEAD.size - 1], "body": entry[:-3], "checksum": entry[:-1] + b"?"}[tail])
    broker.start()
    with connected(broker) as client:
        assert committed(client, "g")[topic, 0].offset == 4
        assert path.read_bytes() == whole and "torn end" in broker.log
        assert commit_code(client, "g", topic, offset=5) == 0
    broker.restart()
    with connected(broker) as client:
        assert committed(client, "g")[topic, 0].offset == 5


def test_what_is_in_the_journal_only_is_there_and_reaches_the_files(start_broker):
    """A kill between the journal and the first checkpoint."""
    broker = start_broker(SLOW_CHECKPOINTS)
    with connected(broker) as client:
        topic = create_topic(client)
        assert commit_code(client, "g", topic, offset=7) == 0
        assert commit_code(client, "gone", topic, offset=7) == 0
        assert delete_groups(client, "gone") == [("gone", 0)]
    broker.kill()
    assert stored(broker) is None
    broker.settings |= QUICK_CHECKPOINTS
    broker.start()
    with connected(broker) as client:
        assert committed(client, "g")[topic, 0].offset == 7
        assert committed(client, "gone") == {} and state(client, "gone") == "Dead"
        until(lambda: stored(broker) == {f"{topic}/0": 7})
        assert stored(broker, "gone") is None


def test_a_journal_is_newer_than_a_checkpoint_that_was_written_before_it(start_broker):
    broker = start_broker(QUICK_CHECKPOINTS)
    with connected(broker) as client:
        topic = create_topic(client)
        assert commit_code(client, "g", topic, offset=1) == 0
        until(lambda: stored(broker) == {f"{topic}/0": 1})
    broker.kill()
    broker.settings |= SLOW_CHECKPOINTS
    broker.start()
    with connected(broker) as client:
        assert commit_code(client, "g", topic, offset=2) == 0
    broker.restart()
    with connected(broker) as client:
        assert stored(broker) == {f"{topic}/0": 1} and committed(client, "g")[topic, 0].offset == 2


def test_a_half_written_file_beside_the_real_one_is_ignored(start_broker):
    broker = start_broker(QUICK_CHECKPOINTS)
    with connected(broker) as client:
        topic = create_topic(client)
        assert commit_code(client, "g", topic, offset=1) == 0
        until(lambda: stored(broker) is not None)
    broker.kill()
    offsets_file(broker).with_name(".g.json.0123456789abcdef.tmp").write_text('{"offsets": {"t/0"')
    broker.start()
    with connected(broker) as client:
        assert committed(client, "g")[topic, 0].offset == 1
    assert "level=error" not in broker.log


@pytest.mark.parametrize("damage", ["no JSON", "empty", "garbage"])
def test_a_file_that_cannot_be_read_is_never_taken_for_no_offsets(start_broker, damage):
    broker = start_broker(QUICK_CHECKPOINTS)
    with connected(broker) as client:
        topic = create_topic(client)
        for group in ("g", "other"):
            assert commit_code(client, group, topic, offset=1) == 0
        until(lambda: stored(broker) is not None and stored(broker, "other") is not None)
    assert broker.stop() == 0
    damaged = {"no JSON": b"{ this", "empty": b"", "garbage": bytes(range(256))}[damage]
    offsets_file(broker).write_bytes(damaged)
    for _ in range(2):
        broker.start()
        with connected(broker) as client:
            answer = ask(client, "OffsetFetch", 7, group_id="g", topics=None)
            assert answer.error_code != 0 and answer.topics == ()
            assert commit_code(client, "g", topic, offset=5) != 0
            assert committed(client, "other")[topic, 0].offset == 1
        assert "g.json" in broker.log
        kept = [path for path in offsets_file(broker).parent.iterdir() if path.name.startswith("g.json")]
        assert [path.read_bytes() for path in kept] == [damaged], "what is left is kept for an operator"
        broker.stop()


def test_a_damaged_journal_breaks_the_group_whose_record_is_lost_and_no_other(start_broker):
    broker = start_broker(SLOW_CHECKPOINTS)
    with connected(broker) as client:
        topic = create_topic(client)
        assert commit_code(client, "first", topic, offset=1) == 0
        assert commit_code(client, "broken", topic, offset=2) == 0
        assert commit_code(client, "last", topic, offset=3) == 0
    broker.kill()
    (path,) = journal_files(broker)
    data = bytearray(path.read_bytes())
    data[data.index(b"broken") + 40] ^= 0xFF
    path.write_bytes(data)
    broker.start()
    with connected(broker) as client:
        assert committed(client, "first")[topic, 0].offset == 1
        assert committed(client, "last")[topic, 0].offset == 3
        assert ask(client, "OffsetFetch", 7, group_id="broken", topics=None).error_code != 0
    assert list(path.parent.glob("*.corrupt"))
