"""groups.feed_thread."""

from __future__ import annotations

import time

from groups.feed_thread import FeedThread
from groups.feeds import feed_of
from groups.testing.feed import snapshot


def until(condition, within_s=10.0):
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_it_reads_the_feeds_between_start_and_stop(feed):
    feed.group(snapshot("one"))
    thread = FeedThread()
    thread.start()
    until(lambda: feed_of("local").loaded)
    feed.group(snapshot("two"))
    until(lambda: sorted(feed_of("local").index.rows) == ["one", "two"])
    thread.stop()
    assert not thread._thread.is_alive()


def test_stopping_what_never_ran_does_no_harm():
    FeedThread().stop()
