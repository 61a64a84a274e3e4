"""Whatever a client sends, it is answered once, and what cannot be never is. (The shell looks after each event.)"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.consumers import Consumers, topic_id
from tests.support.laws import law

some = st.sampled_from
TIMES = some([-1, -1, -5, 0, 1, 1_000, 2**31 - 1])
TOPICS = st.lists(some(["t", "u", "not there", ""]), max_size=3).map(tuple)
HELD = st.dictionaries(
    some([topic_id("t"), topic_id("u"), b"", b"?" * 16]),
    st.lists(some([-1, 0, 1, 2, 2**31 - 1]), max_size=4).map(tuple),
    max_size=3,
)
HEARTBEATS = st.fixed_dictionaries(
    {"member_id": some(["a", "b", "c", ""]), "epoch": some([0, 0, 0, 1, 2, 3, -1, -2, -3, 2**31 - 1])},
    optional={
        "group_id": some(["group", "group", "group", ""]),
        "instance_id": some(["i", "j", "", None]),
        "rack_id": some(["r", "", None]),
        "rebalance_timeout_ms": TIMES,
        "topics": st.none() | TOPICS,
        "regex": some([None, "", "t", "(", "[tu]"]),
        "assignor": some([None, "range", "uniform", "", "nobody's"]),
        "owned": st.none() | HELD,
        "client_id": some(["", "client"]),
        "makes_id": st.booleans(),
        "fresh_id": some(["x", "y"]),
    },
)
JOINS = HEARTBEATS.map(
    lambda said: {
        **said,
        "epoch": 0,
        "rebalance_timeout_ms": 1_000,
        "topics": said.get("topics") or ("t",),
        "owned": {},
    }
)
WORLD = some(["time", "grow", "drop", "match", "restart", "remove", "disk"])


def happens(consumers: Consumers, what: str) -> None:
    """Something that no member does."""
    if what == "time":
        consumers.passes(20_000)
    elif what == "grow":
        consumers.topic("t", consumers.sizes.get("t", 0) + 1)
    elif what == "drop" and "u" in consumers.sizes:
        consumers.drops("u")
    elif what == "match":
        consumers.matches("t", "t")
    elif what == "restart":
        consumers.restarts()
    elif what == "remove":
        consumers.leaves(("a", None), ("", "i"))
    elif what == "disk":
        consumers.journal.full = not consumers.journal.full


@settings(law, max_examples=300)
@given(history=st.lists(st.one_of(HEARTBEATS, JOINS, JOINS, WORLD), max_size=30))
def test_every_heartbeat_is_answered_once_and_leaves_a_group_that_can_be(history):
    consumers = Consumers(t=2, u=1)
    member = consumers.consumer()
    for said in history:
        if isinstance(said, str):
            happens(consumers, said)
        else:
            assert member.sends(**said).code in (0, 15, 25, 42, 69, 82, 110, 111, 112, 128)
