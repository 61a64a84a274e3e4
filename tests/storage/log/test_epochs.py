import pytest

from kaas.storage.log.epochs import LeaderEpochs

THREE = LeaderEpochs().begin(2, 10).begin(5, 30)


def test_a_new_log_is_of_epoch_0():
    epochs = LeaderEpochs()
    assert (epochs.latest, epochs.of(0), epochs.of(99), epochs.end_of(0, 7)) == (0, 0, 0, (0, 7))


@pytest.mark.parametrize(("offset", "epoch"), [(0, 0), (9, 0), (10, 2), (29, 2), (30, 5), (99, 5)])
def test_an_offset_is_of_the_epoch_that_began_last_before_it(offset, epoch):
    assert THREE.of(offset) == epoch


@pytest.mark.parametrize(
    ("asked", "answer"),
    [(0, (0, 10)), (1, (0, 10)), (2, (2, 30)), (4, (2, 30)), (5, (5, 40)), (6, (-1, -1))],
)
def test_an_epoch_ends_where_the_next_begins(asked, answer):
    assert THREE.end_of(asked, 40) == answer


def test_an_epoch_before_all_known_ones_ends_where_they_begin():
    assert LeaderEpochs(((3, 5),)).end_of(1, 9) == (1, 5)


def test_an_epoch_begins_once():
    assert THREE.begin(5, 99) is THREE and THREE.begin(4, 99) is THREE


def test_an_epoch_without_records_leaves_no_trace():
    assert THREE.begin(7, 30).starts == ((0, 0), (2, 10), (7, 30))
    assert LeaderEpochs().begin(1, 0).starts == ((1, 0),)
