from types import SimpleNamespace

import pytest

from kaas.broker.fetch_sessions import IDLE_MS, FetchedPartition, FetchSessions
from kaas.errors import ErrorCode, KafkaError

NOW = 1_000


def asked(offset=0, max_bytes=100, epoch=-1):
    return SimpleNamespace(fetch_offset=offset, partition_max_bytes=max_bytes, current_leader_epoch=epoch)


def rows(*numbers, offset=0):
    return {("t", number): asked(offset) for number in numbers}


@pytest.fixture
def sessions():
    return FetchSessions(2)


def take(sessions, session_id, epoch, partitions=None, forgotten=(), now=NOW, by_id=False):
    return sessions.take(session_id, epoch, partitions or {}, forgotten, now, by_id=by_id)


def refusal(call) -> ErrorCode:
    with pytest.raises(KafkaError) as raised:
        call()
    return raised.value.code


def keys(continuation):
    return [one.key for one in continuation.partitions]


def test_a_session_is_opened_and_continued_by_its_epochs(sessions):
    opened = take(sessions, 0, 0, rows(0, 1))
    id = opened.session_id
    assert id > 0 and not opened.is_incremental and keys(opened) == [("t", 0), ("t", 1)]
    for epoch in (1, 2, 3):
        again = take(sessions, id, epoch)
        assert again.session_id == id and again.is_incremental and keys(again) == keys(opened)


def test_a_request_adds_changes_and_forgets_partitions(sessions):
    id = take(sessions, 0, 0, rows(0, 1)).session_id
    again = take(sessions, id, 1, {("t", 2): asked(), ("t", 1): asked(offset=7, max_bytes=9)}, forgotten=[("t", 0)])
    assert keys(again) == [("t", 1), ("t", 2)]
    changed = again.partitions[0]
    assert (changed.fetch_offset, changed.max_bytes) == (7, 9)


def test_a_wrong_epoch_is_refused_and_the_session_goes_on(sessions):
    id = take(sessions, 0, 0, rows(0)).session_id
    take(sessions, id, 1)
    for epoch in (1, 3, 99):
        assert refusal(lambda epoch=epoch: take(sessions, id, epoch)) == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert take(sessions, id, 2).session_id == id


def test_an_unknown_session_is_refused(sessions):
    assert refusal(lambda: take(sessions, 5, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_session_does_not_mix_names_and_ids(sessions):
    id = take(sessions, 0, 0, rows(0)).session_id
    assert refusal(lambda: take(sessions, id, 1, by_id=True)) == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


@pytest.mark.parametrize("epoch", [0, -1])
def test_opening_anew_or_closing_ends_the_session_before(sessions, epoch):
    id = take(sessions, 0, 0, rows(0)).session_id
    new = take(sessions, id, epoch, rows(1))
    assert keys(new) == [("t", 1)] and (new.session_id != id)
    assert (new.session is None) == (epoch == -1)
    assert refusal(lambda: take(sessions, id, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_request_without_a_session_is_answered_whole(sessions):
    one = take(sessions, 0, -1, rows(0, 1))
    assert (one.session_id, one.is_incremental, len(one.partitions), len(sessions)) == (0, False, 2, 0)


def test_a_session_without_partitions_is_none(sessions):
    assert take(sessions, 0, 0).session_id == 0
    id = take(sessions, 0, 0, rows(0)).session_id
    assert take(sessions, id, 1, forgotten=[("t", 0)]).session_id == 0
    assert len(sessions) == 0


def test_the_epoch_after_the_greatest_is_1(sessions):
    session = take(sessions, 0, 0, rows(0)).session
    session.epoch = 2**31 - 1
    take(sessions, session.session_id, 2**31 - 1)
    assert session.epoch == 1


def test_the_session_that_was_idle_longest_gives_way(sessions):
    first = take(sessions, 0, 0, rows(0)).session_id
    second = take(sessions, 0, 0, rows(0)).session_id
    take(sessions, first, 1, now=NOW + 10)
    assert take(sessions, 0, 0, rows(0), now=NOW + IDLE_MS).session_id == 0  # nobody was idle for long enough
    third = take(sessions, 0, 0, rows(0), now=NOW + IDLE_MS + 1).session_id
    assert third > 0 and len(sessions) == 2
    assert refusal(lambda: take(sessions, second, 1)) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert take(sessions, first, 2, now=NOW + IDLE_MS + 1).session_id == first


def test_without_places_nobody_has_a_session():
    assert take(FetchSessions(0), 0, 0, rows(0)).session_id == 0


def told(partition, code=ErrorCode.NONE, end=5, start=0, records=False):
    return partition.tell(code, end, start, has_records=records)


def test_only_what_is_new_is_worth_telling():
    one = FetchedPartition(("t", 0), asked())
    assert told(one) and not told(one)
    assert told(one, records=True)
    assert told(one, end=6) and not told(one, end=6)
    assert told(one, end=6, start=1) and not told(one, end=6, start=1)


def test_an_error_is_told_each_time_and_its_end_as_well():
    one = FetchedPartition(("t", 0), asked())
    told(one)
    assert told(one, ErrorCode.OFFSET_OUT_OF_RANGE, end=-1) and told(one, ErrorCode.OFFSET_OUT_OF_RANGE, end=-1)
    assert told(one) and not told(one)


def test_partitions_that_sent_records_come_last_next_time(sessions):
    session = take(sessions, 0, 0, rows(0, 1, 2)).session
    session.move_last(("t", 0))
    session.move_last(("t", 9))
    assert keys(take(sessions, session.session_id, 1)) == [("t", 1), ("t", 2), ("t", 0)]
