"""The coordinator's shell: events in, effects carried out, on a real journal."""

import asyncio
import json
import os
import sys
import threading

import pytest

from kaas.broker.clock import Clock
from kaas.broker.group_service import ENOUGH, GATHERING_ROUNDS, GroupService
from kaas.broker.settings import parse
from kaas.coordinator import events
from kaas.coordinator.effects import ResolveRegexes
from kaas.coordinator.topics import Topic
from kaas.wire.apis import HEARTBEAT, OFFSET_COMMIT
from tests.broker.handlers.groups import QUICK, commit_values, committed, stable
from tests.broker.handlers.topics import create
from tests.support.disk import refusing
from tests.support.in_process import Peer, serving
from tests.support.offsets import offset_rows
from tests.support.waiting import until_async

SETTINGS = ("group.initial.rebalance.delay.ms=0", "kaas.checkpoint.interval.ms=10", "group.min.session.timeout.ms=1")


class Life:
    """One life of the groups of a broker. `answers` are the replies by the name that was given with the event."""

    def __init__(self, folder, epoch=1, settings=SETTINGS):
        self.groups = GroupService(folder, 1, epoch, parse(settings), Clock())
        self.answers = {}
        self.told = []
        self.beats = []
        self.groups.audience = self

    # The audience

    def heard(self, group_id, what):
        self.told.append((group_id, what))

    def beat(self, key):
        self.beats.append(key)

    # Requests

    def commit(self, name, offset=1, group_id="g", partition=0):
        rows = offset_rows({("t", partition): offset})
        about = {"generation": -1, "member_id": "", "instance_id": None}
        self.groups.submit(events.Commit(reply_to=self.keep(name), group_id=group_id, rows=rows, **about))

    def join(self, name, member_id="", group_id="g", session_ms=30_000):
        self.groups.submit(
            events.Join(
                reply_to=self.keep(name),
                group_id=group_id,
                member_id=member_id,
                instance_id=None,
                client_id="c",
                client_host="/127.0.0.1",
                session_timeout_ms=session_ms,
                rebalance_timeout_ms=30_000,
                protocol_type="consumer",
                protocols=(("range", b""),),
                requires_known_id=False,
                fresh_id=name,
            )
        )

    def keep(self, name):
        return lambda answer: self.answers.__setitem__(name, answer)

    async def code_of(self, name):
        await until_async(lambda: name in self.answers)
        return int(self.answers[name].code)

    def offset(self, group_id="g", partition=0):
        return self.groups.coordinator.groups[group_id].offsets["t"][partition].offset


@pytest.fixture
async def lives(tmp_path):
    """Starts lives on one folder; all are ended."""
    begun = []

    async def start(**options):
        life = Life(tmp_path, epoch=options.pop("epoch", len(begun) + 1), **options)
        begun.append(life)
        await life.groups.load()
        return life

    yield start
    for life in begun:
        await life.groups.stop()


async def test_a_commit_is_answered_when_it_is_durable_and_survives_a_crash(lives):
    first = await lives()
    first.commit("one", 7)
    assert "one" not in first.answers, "the answer waits for the disk"
    assert await first.code_of("one") == 0
    second = await lives()
    assert second.offset() == 7


async def test_many_lives_do_not_leave_a_journal_file_each(lives, tmp_path):
    for number in range(1, 6):
        life = await lives()
        life.commit("one", number)
        assert await life.code_of("one") == 0
        await life.groups.stop()
    files = sorted((tmp_path / "__journal" / "1").iterdir())
    assert len(files) <= 2 and life.offset() == 5


async def test_what_a_few_rounds_of_the_loop_bring_shares_a_flush(lives, monkeypatch):
    life = await lives()
    handed = watched_shares(life, monkeypatch)
    for turn in range(GATHERING_ROUNDS):
        life.commit(f"{turn}", partition=turn)
        await asyncio.sleep(0)
    assert [await life.code_of(f"{turn}") for turn in range(GATHERING_ROUNDS)] == [0] * GATHERING_ROUNDS
    assert handed == [GATHERING_ROUNDS]
    life.commit("alone")
    assert await life.code_of("alone") == 0
    assert handed == [GATHERING_ROUNDS, GATHERING_ROUNDS + 1]


async def test_many_commits_are_flushed_without_waiting_for_more(lives, monkeypatch):
    life = await lives()
    handed = watched_shares(life, monkeypatch)
    for number in range(ENOUGH + 1):
        life.commit(f"{number}", number)
    assert handed == [ENOUGH]
    assert [await life.code_of(f"{number}") for number in range(ENOUGH + 1)] == [0] * (ENOUGH + 1)
    assert handed == [ENOUGH, ENOUGH + 1]


def watched_shares(life, monkeypatch) -> list[int]:
    """What has been persisted each time that a share is given to the journal's thread."""
    handed, write = [], life.groups._writer.write

    def watched(entries, last):
        handed.append(life.groups.coordinator.out.seq)
        write(entries, last)

    monkeypatch.setattr(life.groups._writer, "write", watched)
    return handed


class Asker:
    """Whoever gathers an event, and what it was told of a failure."""

    def __init__(self, told=None, name="asker"):
        self.told, self.name = told, name

    def failed(self):
        assert self.told is not None, "nothing was to fail"
        self.told.append((self.name, str(sys.exc_info()[1])))


async def test_what_was_gathered_is_decided_in_the_order_in_which_it_came_when_it_is_asked_for(lives):
    life = await lives()
    told = []
    for number in range(3):
        about = {"group_id": "g", "generation": 1, "member_id": f"{number}", "instance_id": None}
        life.groups.gather(
            events.Heartbeat(reply_to=lambda code, n=number: told.append((n, int(code))), **about), Asker()
        )
    life.groups.submit(events.Heartbeat(reply_to=lambda code: told.append(("now", int(code))), **about))
    assert told == [("now", 25)]
    life.groups.decide_gathered()
    life.groups.decide_gathered()
    assert told == [("now", 25), (0, 25), (1, 25), (2, 25)]


async def test_a_decision_that_fails_is_told_to_who_asked_and_keeps_none_of_its_round_back(lives, monkeypatch):
    life = await lives()
    told, decide = [], life.groups.coordinator.decide

    def failing(event, now_ms):
        if event.member_id == "bad":
            raise RuntimeError("a fault")
        decide(event, now_ms)

    monkeypatch.setattr(life.groups.coordinator, "decide", failing)
    for name in ("one", "bad", "two"):
        about = {"group_id": "g", "generation": 1, "member_id": name, "instance_id": None}
        event = events.Heartbeat(reply_to=lambda code, name=name: told.append(name), **about)
        life.groups.gather(event, Asker(told, name))
    life.groups.decide_gathered()
    assert told == [("bad", "a fault"), "one", "two"]


async def test_what_was_gathered_waits_while_an_event_is_handled(lives):
    life = await lives()
    told = []
    about = {"group_id": "g", "generation": 1, "member_id": "m", "instance_id": None}

    def outer(code):
        life.groups.decide_gathered()
        told.append("outer")

    life.groups.gather(events.Heartbeat(reply_to=lambda code: told.append("gathered"), **about), Asker())
    life.groups.submit(events.Heartbeat(reply_to=outer, **about))
    assert told == ["outer", "gathered"]


async def test_events_that_come_while_one_is_handled_wait_for_it(lives):
    life = await lives()
    order = []
    answered = life.keep("first")

    def first(answer):
        answered(answer)
        life.join("second", session_ms=0)
        order.append("second" in life.answers)

    life.keep, keep = lambda name: first if name == "first" else keep(name), life.keep
    life.join("first")
    assert await life.code_of("second") == 26
    assert order == [False]


async def test_an_answer_that_cannot_be_given_does_not_keep_others_back(lives):
    life = await lives()
    keep = life.keep
    life.keep = lambda name: (lambda answer: 1 / 0) if name == "faulty" else keep(name)
    life.commit("faulty", 1)
    life.commit("good", 2)
    assert await life.code_of("good") == 0 and life.offset() == 2


async def test_a_timer_that_runs_out_becomes_an_event(lives):
    life = await lives()
    life.join("one", session_ms=20)
    assert await life.code_of("one") == 0
    await until_async(lambda: not life.groups.coordinator.groups["g"].classic.members)


async def test_heartbeats_and_changes_are_told_to_the_audience(lives):
    life = await lives()
    life.join("one")
    await life.code_of("one")
    assert {group_id for group_id, _ in life.told} == {"g"} and life.beats[0][0] == "session"


async def test_a_journal_that_cannot_be_written_refuses_commits_until_it_can(lives):
    life = await lives()
    life.commit("before", 1)
    assert await life.code_of("before") == 0
    with refusing("write"):
        life.commit("during", 2)
        assert await life.code_of("during") != 0
        assert isinstance(life.groups.disk_error, OSError) and life.offset() == 1
    life.commit("after", 3)
    assert await life.code_of("after") == 0
    assert life.groups.disk_error is None and life.offset() == 3


async def test_a_stop_makes_durable_what_was_asked_for_and_writes_the_files(lives, tmp_path):
    life = await lives(settings=("kaas.checkpoint.interval.ms=3600000",))
    life.commit("one", 7)
    await life.groups.stop()
    assert int(life.answers["one"].code) == 0
    assert json.loads((tmp_path / "__consumer_offsets" / "g.json").read_text())["offsets"] == {"t/0": 7}


async def test_groups_are_written_to_their_files_soon(lives, tmp_path):
    life = await lives()
    for offset in range(20):
        life.commit(str(offset), offset)
    path = tmp_path / "__consumer_offsets" / "g.json"
    await until_async(lambda: path.exists() and json.loads(path.read_text())["offsets"] == {"t/0": 19})


async def test_a_life_writes_above_whatever_the_volume_holds(lives):
    old = await lives(epoch=9)
    old.commit("old", 1)
    assert await old.code_of("old") == 0
    late = await lives(epoch=2)  # its assignment was lost, so it counts from the start again
    assert late.groups.coordinator.out.epoch == 10
    late.commit("new", 2)
    assert await late.code_of("new") == 0
    assert (await lives(epoch=3)).offset() == 2


async def test_groups_answer_that_they_load_until_they_are_loaded(tmp_path):
    life = Life(tmp_path)
    life.commit("early")
    assert await life.code_of("early") == 14
    await life.groups.load()
    life.commit("late")
    assert await life.code_of("late") == 0
    await life.groups.stop()


async def test_a_slow_disk_holds_up_commits_and_nothing_else(tmp_path, monkeypatch):
    """K19: an fsync on the event loop delayed everybody's heartbeats."""
    may_write = threading.Event()
    flushed = os.fdatasync

    def slow(handle):
        may_write.wait(20)
        flushed(handle)

    async with serving(tmp_path, **QUICK) as peer:
        await create(peer, "t")
        member = await stable(peer)
        other = await Peer.connect(peer.server)
        monkeypatch.setattr(os, "fdatasync", slow)
        other.put(OFFSET_COMMIT, 8, **commit_values({("t", 0): 5}, "other"))
        for _ in range(20):
            assert (await peer.ask(HEARTBEAT, 4, **member.values)).error_code == 0
        assert await committed(peer, "other") == {}
        may_write.set()
        assert (await other.get()).topics[0].partitions[0].error_code == 0
        assert await committed(peer, "other") == {("t", 0): 5}
        other.close()


@pytest.mark.parametrize(
    ("may_describe", "found"),
    [(None, {"t.*": ("t1", "t2")}), (lambda name: name == "t2", {"t.*": ("t2",)}), (lambda name: 1 / 0, {})],
    ids=["all", "some", "a fault"],
)
async def test_patterns_are_matched_and_told_even_when_that_fails(tmp_path, may_describe, found):
    groups, seen = Life(tmp_path).groups, []
    for number, name in enumerate(["t1", "t2", "u"]):
        groups.coordinator.topics.put(Topic(name, bytes([number]) * 16, 1))
    asked = [ResolveRegexes(group_id="g", patterns=("t.*", "("), may_describe=may_describe)]

    def decide(event, now_ms):
        seen.append(event)
        groups.coordinator.out.effects.extend(asked if event == "heartbeat" else [])

    groups.coordinator.decide = decide
    groups.submit("heartbeat")
    await until_async(lambda: len(seen) == 2)
    assert seen[1] == events.RegexesResolved(group_id="g", topics=found)
    await groups.stop()
