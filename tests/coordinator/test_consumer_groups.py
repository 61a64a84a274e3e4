"""What is asked of every group, asked of a consumer group: lists, offsets and their end, retention, another broker."""

from __future__ import annotations

from kaas.coordinator import queries
from kaas.coordinator.announcements import GroupGone, OffsetsChanged
from tests.support.consumers import Consumers
from tests.support.groups import GROUP

RETENTION_MS = 100_000
INTERVAL_MS = 10_000
FORGETFUL = {
    "offsets_retention_ms": RETENTION_MS,
    "offsets_retention_check_interval_ms": INTERVAL_MS,
    "consumer_session_timeout_ms": 10 * RETENTION_MS,
}


# Questions


def test_it_is_listed_with_its_state_and_type_and_found_by_both():
    consumers = Consumers(t=2)
    a = consumers.joined("t")
    row = consumers.listed()[GROUP]
    assert (row.protocol_type, row.state, row.type) == ("consumer", "Stable", "consumer")
    b = consumers.joined("t")
    assert GROUP in consumers.listed(states=["reconciling"], types=["Consumer"])
    assert not consumers.listed(states=["Stable"]) and not consumers.listed(types=["classic"])
    a.leaves()
    assert consumers.listed()[GROUP].state == "Assigning"
    b.leaves()
    assert consumers.listed()[GROUP].state == "Empty"


def test_it_is_dead_for_who_asks_for_classic_groups():
    consumers = Consumers(t=2)
    consumers.joined("t")
    row = consumers.described()
    assert (row.code, row.state, row.protocol_type, row.members) == (69, "Dead", "", ())


def test_it_is_described_with_what_members_have_and_shall_have():
    consumers = Consumers(t=2)
    a, b = consumers.joined("t"), consumers.joined("t")
    row = queries.describe_consumer_group(consumers.core, GROUP)
    assert (row.code, row.state, row.epoch, row.target_epoch, row.assignor) == (0, "Reconciling", 2, 2, "uniform")
    assert [one.member.member_id for one in row.members] == [a.id, b.id]
    assert [one.target for one in row.members] == [consumers.modern.target[m.id] for m in (a, b)]


def test_who_asks_for_consumer_groups_is_refused_others():
    consumers = Consumers(t=2)
    consumers.commits({("t", 0): 1})
    codes = [queries.describe_consumer_group(consumers.core, name).code for name in (GROUP, "no", "")]
    assert codes == [69, 69, 24]
    consumers.starts_loading()
    assert queries.describe_consumer_group(consumers.core, GROUP).code == 14


# Offsets


def test_offsets_of_a_topic_that_a_member_reads_cannot_be_deleted():
    consumers = Consumers(t=1, u=1, v=1)
    a = consumers.joined("t", regex="v")
    consumers.matches("v", "v")
    for topic in ("t", "u", "v"):
        assert a.beats() == 0 and a.commits(topic=topic) == 0
    answer = consumers.deletes_offsets(("t", 0), ("u", 0), ("v", 0)).answer
    assert answer.partitions == {("t", 0): 86, ("u", 0): 0, ("v", 0): 86}
    assert consumers.committed().keys() == {("t", 0), ("v", 0)}


def test_a_topic_that_goes_takes_its_offsets_along():
    consumers = Consumers(t=1, u=1)
    a = consumers.joined("t", "u")
    a.commits(topic="t")
    a.commits(topic="u")
    consumers.drops("u")
    assert consumers.committed().keys() == {("t", 0)}


def test_a_commit_by_nobody_to_an_empty_group_is_told_as_a_reset_and_members_commits_are_not():
    consumers = Consumers(t=1)
    a = consumers.joined("t", instance_id="i")
    a.commits()
    a.leaves(-2)
    assert a.commits(generation=-2) == 0
    a.leaves()
    consumers.commits({("t", 0): 1})
    kinds = [one.kind for one in consumers.heard(OffsetsChanged)]
    assert kinds == ["offsets_committed", "offsets_committed", "offsets_reset"]


# Retention


def test_what_members_subscribe_to_is_kept_and_the_rest_expires():
    consumers = Consumers(t=1, u=1, config=FORGETFUL)
    a = consumers.joined("t", "u")
    a.commits(topic="t")
    a.commits(topic="u")
    a.beats(topics=("t",))
    a.acks()
    consumers.passes(RETENTION_MS + INTERVAL_MS)
    assert consumers.committed().keys() == {("t", 0)}


def test_the_offsets_of_an_empty_group_go_a_retention_after_its_last_member_and_the_group_with_them():
    consumers = Consumers(t=1, config=FORGETFUL)
    a = consumers.joined("t")
    a.commits()
    consumers.passes(RETENTION_MS)
    a.leaves()
    consumers.passes(RETENTION_MS // 2)
    consumers.restarts()
    consumers.passes(RETENTION_MS // 2 - 1)
    assert consumers.committed()
    consumers.passes(1 + INTERVAL_MS)
    assert consumers.listed() == {} and consumers.durable() == {}
    assert consumers.heard(GroupGone)[-1].kind == "group_expired"


def test_a_group_whose_member_is_away_stays():
    consumers = Consumers(t=1, config=FORGETFUL)
    a = consumers.joined("t", instance_id="i")
    a.leaves(-2)
    consumers.passes(2 * INTERVAL_MS)
    assert consumers.deletes().code == 68 and GROUP in consumers.listed()


# Another broker


def test_who_beats_at_a_broker_that_has_the_group_no_more_finds_no_group_there():
    consumers = Consumers(t=1)
    a = consumers.joined("t")
    consumers.unloads()
    assert (a.beats(), a.leaves()) == (69, 69)
