from kaas.storage.log.recent import RecentBatches

ROOM = 3 * 300  # three batches of 100 bytes with what holds them


def test_each_log_finds_its_own_batches():
    recent, one, two = RecentBatches(), {}, {}
    recent.add(one, 0, b"a")
    recent.add(two, 0, b"b")
    recent.add(one, 5, b"c")
    assert (one, two, len(recent)) == ({0: b"a", 5: b"c"}, {0: b"b"}, 3)


def test_the_oldest_batch_of_any_log_goes_first():
    recent, one, two = RecentBatches(ROOM), {}, {}
    for offset, batches in enumerate((one, two, one, two, two)):
        recent.add(batches, offset, b"x" * 100)
    assert (list(one), list(two), len(recent)) == ([2], [3, 4], 3)


def test_a_batch_larger_than_all_room_is_not_kept():
    recent, one = RecentBatches(ROOM), {}
    recent.add(one, 0, b"x" * 2000)
    assert not one and not len(recent)


def test_a_log_that_let_go_by_itself_does_no_harm():
    recent, one, two = RecentBatches(ROOM), {}, {}
    recent.add(one, 0, b"x" * 100)
    one.clear()
    for offset in range(4):
        recent.add(two, offset, b"x" * 100)
    assert list(two) == [1, 2, 3]
