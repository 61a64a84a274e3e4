"""groups.lag.ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from groups.lag.ends import TopicLog, TopicOffsets
from groups.lag.states import group_lag, lag_of
from groups.lag.window import Rewound
from kaas.feed.types import TopicView

OFFSET = st.integers(min_value=0, max_value=50)
ENDS = st.one_of(st.none(), st.tuples(OFFSET, OFFSET).map(lambda pair: (min(pair), max(pair), max(pair))))
VIEWS = st.lists(st.lists(ENDS, max_size=4), min_size=1, max_size=5)
COMMITTED = st.dictionaries(st.integers(min_value=0, max_value=5), OFFSET, min_size=1, max_size=5)


def offsets_of(log, committed, **more):
    return TopicOffsets(log, {partition: (offset, 1) for partition, offset in committed.items()}, **more)


def view(rows, at=1):
    return TopicView(topic="t", topic_id=None, at=at, partitions=rows)


@given(VIEWS, COMMITTED)
def test_the_short_way_gives_what_the_one_lag_function_gives(views, committed):
    """Two ways to count gave two numbers for one group.

    https://github.com/birdayz/kaf/issues/303
    """
    log = TopicLog("t")
    offsets = offsets_of(log, committed)
    for at, rows in enumerate(views, start=1):
        log.told(view(rows, at))
        lags = []
        for partition, offset in committed.items():
            start, end = rows[partition][:2] if partition < len(rows) and rows[partition] else (None, None)
            lags.append(lag_of(committed=offset, log_start=start, log_end=end))
        whole = group_lag(lags, has_members=True)
        assert offsets.lag() == (whole.total, whole.status == "out_of_range")


@given(COMMITTED)
def test_what_is_committed_comes_back(committed):
    assert dict(offsets_of(TopicLog("t"), committed).committed()) == committed


def test_growth_of_the_ends_alone_keeps_the_epoch():
    log = TopicLog("t")
    log.told(view([(0, 5, 5), (0, 5, 5)]))
    epoch, version = log.epoch, log.version
    log.told(view([(0, 9, 9), (0, 5, 5)], at=2))
    assert log.epoch == epoch and log.version > version
    for rows in ([(1, 9, 9), (0, 5, 5)], [(1, 9, 9), None], [(1, 9, 9)], [(1, 3, 3)]):
        epoch = log.epoch
        log.told(view(rows, at=3))
        assert log.epoch > epoch


def test_a_newer_snapshot_moves_an_end_and_an_older_one_does_not():
    log = TopicLog("t")
    log.told(view([(0, 5, 5)], at=10))
    log.seen(9, {0: (0, 7, 7)})
    assert log.known_ends(0) == (0, 5)
    log.seen(11, {0: (0, 7, 7), 2: (1, 3, 3)})
    assert log.known_ends(0) == (0, 7) and log.known_ends(1) == (None, None) and log.known_ends(2) == (1, 3)
    log.seen(12, {0: (0, 6, 6)})
    assert log.known_ends(0) == (0, 7)


def test_a_view_that_is_older_than_a_snapshot_takes_no_end_back():
    log = TopicLog("t")
    log.seen(20, {0: (0, 7, 7)})
    log.told(view([(2, 5, 5)], at=10))
    assert log.known_ends(0) == (2, 7)
    log.told(view([(2, 5, 5)], at=30))
    assert log.known_ends(0) == (2, 5)


def test_a_topic_that_was_made_anew_begins_anew():
    log = TopicLog("t")
    log.seen(20, {0: (0, 7, 7)})
    log.told(TopicView(topic="t", topic_id="other", at=10, partitions=[(0, 1, 1)]))
    assert log.known_ends(0) == (0, 1)
    log.forgotten()
    log.told(TopicView(topic="t", topic_id="other", at=5, partitions=[(0, 0, 0)]))
    assert log.known_ends(0) == (0, 0)


def test_a_topic_that_is_gone_keeps_its_last_ends():
    log = TopicLog("t")
    log.told(view([(0, 5, 5)]))
    version = log.version
    log.forgotten()
    assert not log.known and log.known_ends(0) == (0, 5) and log.version > version


def test_the_ends_are_shown_in_the_feeds_shape():
    log = TopicLog("t")
    log.told(view([(0, 5, 4), None], at=7))
    assert log.view() == view([(0, 5, 4), None], at=7)
    assert log.known_ends(9) == (None, None)


def test_last_stable_offsets_come_from_snapshots_too():
    log = TopicLog("t")
    log.told(view([(0, 5, 3)], at=10))
    log.seen(11, {0: (0, 7, 6)})
    assert log.view().partitions == [(0, 7, 6)]
    log.told(view([(0, 5, 3)], at=9))
    assert log.view().partitions == [(0, 7, 6)]


def test_an_offset_that_went_back_is_remembered_and_a_deleted_one_is_not():
    log = TopicLog("t")
    first = offsets_of(log, {0: 5, 1: 7, 2: 9})
    second = offsets_of(log, {0: 3, 1: 8, 3: 1}, at=20, before=first)
    assert second.rewound == {0: Rewound(at=20, before=5, after=3)} and second.trail is first.trail
    third = offsets_of(log, {0: 4, 1: 2}, at=30, before=second)
    assert third.rewound == {0: Rewound(at=20, before=5, after=3), 1: Rewound(at=30, before=8, after=2)}
    assert first.rewound == {}


def test_a_topic_that_was_made_anew_has_no_past():
    log = TopicLog("t")
    log.told(view([(0, 5, 5)], at=1))
    log.trail.note(1, log.ends, since=0)
    log.told(view([(0, 6, 6)], at=2))
    assert log.trail.at(2) is not None
    log.told(TopicView(topic="t", topic_id="other", at=3, partitions=[(0, 1, 1)]))
    assert log.trail.at(3) is None
