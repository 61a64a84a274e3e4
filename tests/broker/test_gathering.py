"""Several answers that make one."""

from hypothesis import given
from hypothesis import strategies as st

from kaas.broker.gathering import Gathering
from tests.support.laws import law


def test_the_whole_comes_with_the_last_part():
    wholes = []
    gathering = Gathering(["a", "b"], wholes.append)
    gathering.put("b", 2)
    assert wholes == []
    gathering.put("a", 1)
    assert wholes == [{"a": 1, "b": 2}] and list(wholes[0]) == ["a", "b"]


def test_nothing_to_wait_for_is_a_whole_at_once():
    wholes = []
    Gathering([], wholes.append)
    assert wholes == [{}]


@given(st.permutations(range(8)))
@law
def test_parts_may_come_in_any_order(order):
    wholes = []
    gathering = Gathering(range(8), wholes.append)
    for key in order:
        gathering.put(key, key * 2)
    assert [list(whole.items()) for whole in wholes] == [[(key, key * 2) for key in range(8)]]
