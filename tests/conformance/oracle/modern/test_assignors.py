"""The server-side assignors of consumer groups: what `range` and `uniform` hand out, read from the target assignment.

Exact where one topic is shared by all or the rule is fixed by names; elsewhere by what must hold: each partition has one owner
that subscribes to it, shares differ by one at most, and nobody both gains and loses.
"""

import pytest

from tests.conformance.oracle.modern.groups import settle
from tests.support.waiting import until


def name(cg, alias):
    return f"{cg.name}.{alias}"


def plan(cg):
    """{member id: {topic alias: partitions}} of the target assignment."""
    return {
        member: {topic.rsplit(".", 1)[1]: partitions for topic, partitions in held.items()}
        for member, held in cg.targets().items()
    }


def join(cg, members, assignor="uniform", instances=()):
    """Members by id, each with its topic aliases."""
    return {
        id: cg.joined(
            *(name(cg, alias) for alias in aliases), id=id, instance=dict(instances).get(id), server_assignor=assignor
        )
        for id, aliases in members.items()
    }


def dealt(cg, topic, sizes, members, *joining):
    """The plan when all members were there before the topics, so that everything is dealt out at once."""
    first, *_ = join(cg, members, *joining).values()
    for alias, partitions in sizes.items():
        topic(partitions, name(cg, alias))
    until(
        lambda: first.beat() and sum(len(p) for held in plan(cg).values() for p in held.values()) == sum(sizes.values())
    )
    return plan(cg)


def pairs(held):
    return {(alias, p) for alias, partitions in held.items() for p in partitions}


def fair(cg, sizes, before=()):
    """The plan, which must be complete, balanced, and sticky against the plan before."""
    now = plan(cg)
    everything = sorted(pair for held in now.values() for pair in pairs(held))
    assert everything == sorted((alias, p) for alias, count in sizes.items() for p in range(count))
    shares = [len(pairs(held)) for held in now.values()]
    assert max(shares) - min(shares) <= 1, now
    for member, held in dict(before).items():
        if member in now:
            assert pairs(held) <= pairs(now[member]) or pairs(now[member]) <= pairs(held), (before, now)
    return now


def everybody(members, *aliases):
    return dict.fromkeys(members, aliases)


# range


@pytest.mark.parametrize(
    "sizes, members, expected",
    [
        (
            {"T1": 3, "T3": 2},
            everybody("AB", "T1", "T3"),
            {"A": {"T1": [0, 1], "T3": [0]}, "B": {"T1": [2], "T3": [1]}},
        ),
        (
            {"T1": 3, "T3": 2},
            everybody("ABC", "T1", "T3"),
            {"A": {"T1": [0], "T3": [0]}, "B": {"T1": [1], "T3": [1]}, "C": {"T1": [2]}},
        ),
        (
            {"T1": 2, "T2": 2},
            everybody("ABC", "T1", "T2"),
            {"A": {"T1": [0], "T2": [0]}, "B": {"T1": [1], "T2": [1]}, "C": {}},
        ),
        (
            {"T1": 3, "T2": 3, "T3": 2},
            {"A": ["T1", "T2"], "B": ["T3"], "C": ["T2", "T3"]},
            {"A": {"T1": [0, 1, 2], "T2": [0, 1]}, "B": {"T3": [0]}, "C": {"T2": [2], "T3": [1]}},
        ),
    ],
    ids=["two members", "three members", "one left out", "different topics"],
)
def test_range_gives_each_member_a_run_of_every_topic(cg, topic, sizes, members, expected):
    assert dealt(cg, topic, sizes, members, "range") == expected


def test_range_puts_static_members_first_in_the_order_of_their_instances(cg, topic):
    shares = dealt(cg, topic, {"T": 3}, everybody("xya", "T"), "range", {"x": "i2", "y": "i1"})
    assert shares == {"y": {"T": [0]}, "x": {"T": [1]}, "a": {"T": [2]}}


def test_range_goes_by_order_even_where_that_moves_partitions(cg, topic):
    topic(3, name(cg, "T"))
    join(cg, everybody("B", "T"), "range")
    join(cg, everybody("A", "T"), "range")
    assert plan(cg) == {"A": {"T": [0, 1]}, "B": {"T": [2]}}


# uniform, one topic


@pytest.mark.parametrize(
    "partitions, expected",
    [
        (7, {"A": [0, 1, 2], "B": [3, 4, 5, 6]}),
        (5, {"A": [0], "B": [1, 2], "C": [3, 4]}),
        (2, {"A": [], "B": [0], "C": [1]}),
        (4, {"A": [0], "B": [1], "C": [2, 3]}),
        (10, {"A": [0, 1, 2], "B": [3, 4, 5], "C": [6, 7, 8, 9]}),
    ],
)
def test_uniform_deals_runs_and_the_last_members_get_the_extras(cg, topic, partitions, expected):
    shares = dealt(cg, topic, {"T": partitions}, everybody(expected, "T"))
    assert {member: held.get("T", []) for member, held in shares.items()} == expected


def test_uniform_moves_as_little_as_it_can_when_members_come_and_go(cg, topic):
    topic(6, name(cg, "T"))
    seen = []
    for id in "ABC":
        members = join(cg, everybody(id, "T"))
        seen.append(plan(cg))
    cg.member(id="B").leave()
    members["C"].beat()
    assert [*seen, plan(cg)] == [
        {"A": {"T": [0, 1, 2, 3, 4, 5]}},
        {"A": {"T": [0, 1, 2]}, "B": {"T": [3, 4, 5]}},
        {"A": {"T": [0, 1]}, "B": {"T": [3, 4]}, "C": {"T": [2, 5]}},
        {"A": {"T": [0, 1, 3]}, "C": {"T": [2, 4, 5]}},
    ]


def test_uniform_gives_new_partitions_to_who_has_least(cg, topic, grow):
    topic(3, name(cg, "T"))
    a = join(cg, everybody("A", "T"))["A"]
    join(cg, everybody("B", "T"))
    assert plan(cg) == {"A": {"T": [0, 1]}, "B": {"T": [2]}}
    grow(name(cg, "T"), 5)
    a.beat()
    assert plan(cg) == {"A": {"T": [0, 1]}, "B": {"T": [2, 3, 4]}}


def test_uniform_gives_an_extra_to_the_last_member_that_has_none(cg, topic, grow):
    a, *_ = join(cg, everybody("ABC", "T")).values()
    topic(4, name(cg, "T"))
    seen = []
    for partitions in (4, 8, 10, 11):
        if partitions > 4:
            grow(name(cg, "T"), partitions)
        until(lambda wanted=partitions: a.beat() and sum(len(pairs(held)) for held in plan(cg).values()) == wanted)
        seen.append({member: held["T"] for member, held in plan(cg).items()})
    assert seen == [
        {"A": [0], "B": [1], "C": [2, 3]},
        {"A": [0, 4], "B": [1, 5, 6], "C": [2, 3, 7]},
        {"A": [0, 4, 8], "B": [1, 5, 6], "C": [2, 3, 7, 9]},
        {"A": [0, 4, 8], "B": [1, 5, 6, 10], "C": [2, 3, 7, 9]},
    ]


def test_uniform_leaves_a_balanced_group_alone(cg, topic, drop):
    topic(5, name(cg, "T"))
    for id in "ABC":
        members = join(cg, everybody(id, "T", "U"))
    before = fair(cg, {"T": 5})
    epoch = cg.describe().group_epoch
    topic(1, name(cg, "U"))
    members["C"].beat()
    fair(cg, {"T": 5, "U": 1}, before)
    drop(name(cg, "U"))
    members["C"].beat()
    assert (cg.describe().assignment_epoch, plan(cg)) == (epoch + 2, before)


# uniform, several topics


def test_uniform_balances_the_sum_over_all_topics(cg, topic, grow):
    topic(3, name(cg, "T"))
    topic(3, name(cg, "U"))
    sizes = {"T": 3, "U": 3}
    a = join(cg, everybody("A", "T", "U"))["A"]
    alone = fair(cg, sizes)
    join(cg, everybody("B", "T", "U"))
    two = fair(cg, sizes, alone)
    join(cg, everybody("C", "T", "U"))
    three = fair(cg, sizes, two)
    cg.member(id="B").leave()
    a.beat()
    left = fair(cg, sizes, three)
    grow(name(cg, "T"), 8)
    a.beat()
    fair(cg, {"T": 8, "U": 3}, left)


def test_uniform_gives_a_member_only_what_it_subscribes_to(cg, topic):
    shares = dealt(cg, topic, {"T1": 3, "T3": 6}, {"A": ["T1", "T3"], "B": ["T3"]})
    assert shares["A"]["T1"] == [0, 1, 2] and "T1" not in shares["B"]
    assert [len(pairs(shares[id])) for id in "AB"] == [4, 5]
    assert sorted(shares["A"]["T3"] + shares["B"]["T3"]) == [0, 1, 2, 3, 4, 5]


def test_uniform_balances_along_a_chain_of_subscriptions(cg, topic):
    shares = dealt(cg, topic, {"T1": 3, "T2": 3, "T3": 3}, {"A": ["T1", "T2"], "B": ["T2", "T3"], "C": ["T3"]})
    assert [len(pairs(shares[id])) for id in "ABC"] in ([4, 3, 2], [3, 3, 3])
    assert "T3" not in shares["A"] and "T1" not in shares["B"] and list(shares["C"]) == ["T3"]


# Either


@pytest.mark.parametrize("assignor", ["range", "uniform"])
def test_a_member_that_reads_nothing_gets_nothing(cg, topic, assignor):
    t = topic(3)
    a, idle = cg.joined(t, id="B", server_assignor=assignor), cg.joined(id="A", server_assignor=assignor)
    assert cg.targets() == {"A": {}, "B": {t: [0, 1, 2]}}
    assert settle(a, idle) == [{t: [0, 1, 2]}, {}]
    idle.beat(subscribed_topic_names=[t])
    assert sorted(len(held[t]) for held in cg.targets().values()) == [1, 2]


# Which of them


def test_uniform_is_used_when_nobody_prefers_another(cg, topic):
    t, u = topic(1, name(cg, "T")), topic(1, name(cg, "U"))
    for id in "AB":
        cg.joined(t, u, id=id)
    assert (cg.describe().assignor_name, [len(pairs(held)) for held in plan(cg).values()]) == ("uniform", [1, 1])


def test_the_plan_is_made_with_what_most_members_prefer(cg, topic):
    topic(1, name(cg, "T"))
    topic(1, name(cg, "U"))
    join(cg, everybody("AB", "T", "U"), "range")
    assert plan(cg) == {"A": {"T": [0], "U": [0]}, "B": {}}
    join(cg, everybody("C", "T", "U"), "uniform")
    assert (cg.describe().assignor_name, plan(cg)) == ("range", {"A": {"T": [0], "U": [0]}, "B": {}, "C": {}})
    join(cg, everybody("DE", "T", "U"), "uniform")
    assert (cg.describe().assignor_name, sorted(len(pairs(held)) for held in plan(cg).values())) == (
        "uniform",
        [0, 0, 0, 1, 1],
    )
