"""Groups as an operator asks about them.

FindCoordinator 0-6, DescribeGroups 0-6, ListGroups 0-5, DeleteGroups 0-2, DescribeCluster 0-2.
"""

import pytest

from tests.conformance.oracle.calls import ask
from tests.conformance.oracle.groups import (
    Offset,
    beat,
    commit,
    commit_code,
    committed,
    delete_groups,
    describe,
    emptied,
    joined,
    listed,
    modern,
    modern_leave,
    offset,
    preparing,
    stable,
    state,
    subscription,
)
from tests.support.waiting import until

UNASKED = -(2**31)


def here(c):
    """(node, host, port) of the one broker."""
    (broker,) = ask(c, "Metadata", 1, topics=[]).brokers
    return broker.node_id, broker.host, broker.port


# FindCoordinator


@pytest.mark.parametrize("key", ["any-group", ""], ids=["a key", "the empty key"])
@pytest.mark.parametrize("version", range(4))
def test_the_coordinator_of_one_key_is_the_broker(c, ready, version, key):
    answer = ask(c, "FindCoordinator", version, key=key, key_type=0)
    assert answer.error_code == 0 and (answer.node_id, answer.host, answer.port) == here(c)


@pytest.mark.parametrize("version", [4, 5, 6])
def test_coordinators_of_many_keys_come_in_the_order_asked(c, ready, version):
    answer = ask(c, "FindCoordinator", version, key_type=0, coordinator_keys=["b", "a", "", "b"])
    assert [x.key for x in answer.coordinators] == ["b", "a", "", "b"]
    assert {(int(x.error_code), x.node_id, x.host, x.port) for x in answer.coordinators} == {(0, *here(c))}
    assert ask(c, "FindCoordinator", version, key_type=0, coordinator_keys=[]).coordinators == ()


@pytest.mark.parametrize("version", [1, 3, 4, 6])
def test_transactional_ids_have_a_coordinator_too(c, ready, version):
    def found():
        answer = ask(c, "FindCoordinator", version, key="any-producer", key_type=1, coordinator_keys=["any-producer"])
        answer = answer.coordinators[0] if version >= 4 else answer
        assert answer.error_code in (0, 15), answer
        return answer.error_code == 0 and (answer.node_id, answer.host, answer.port)

    assert until(found, within_s=30) == here(c)


@pytest.mark.parametrize("version, kind", [(1, 2), (3, 2), (2, 7), (3, -1)])
def test_a_coordinator_of_an_unknown_kind_is_an_invalid_request(c, ready, version, kind):
    answer = ask(c, "FindCoordinator", version, key="k", key_type=kind)
    assert (int(answer.error_code), answer.node_id, answer.host, answer.port) == (42, -1, "", -1)


@pytest.mark.parametrize("version, kind", [(4, 2), (5, 2), (4, 9), (6, -1), (6, 2)])
def test_each_key_of_an_unknown_kind_is_an_invalid_request(c, ready, version, kind):
    answer = ask(
        c, "FindCoordinator", version, key_type=kind, coordinator_keys=["k", "l:m"]
    )  # version 6 knows kind 2, but not such keys
    assert [(x.key, int(x.error_code), x.node_id, x.host, x.port) for x in answer.coordinators] == [
        ("k", 42, -1, "", -1),
        ("l:m", 42, -1, "", -1),
    ]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_cluster_is_described_with_its_one_broker(c, version):
    answer = ask(c, "DescribeCluster", version, endpoint_type=1)
    (broker,) = answer.brokers
    assert answer.error_code == 0 and (broker.broker_id, broker.host, broker.port) == here(c)
    seen = ask(c, "Metadata", 8, topics=[])
    assert (answer.cluster_id, answer.controller_id) == (seen.cluster_id, seen.controller_id)
    assert answer.cluster_authorized_operations == UNASKED


# DescribeGroups


@pytest.mark.parametrize("version", range(7))
def test_an_unknown_group_is_dead_and_an_error_only_from_version_6(c, group, version):
    """https://github.com/apache/kafka/issues/17706"""
    seen = describe(c, group, version)
    assert (int(seen.error_code), seen.group_id, seen.group_state) == (69 if version == 6 else 0, group, "Dead")
    assert (seen.protocol_type, seen.protocol_data, seen.members) == ("", "", ())
    assert version < 6 or group in seen.error_message
    assert group not in listed(c)


@pytest.mark.parametrize("version", range(7))
def test_a_stable_group_shows_all_of_its_members(c, group, lasting, version):
    member = stable(c, group, [lasting], instance="instance", assignment=b"the plan")
    seen = describe(c, group, version)
    assert (int(seen.error_code), seen.group_state, seen.protocol_type, seen.protocol_data) == (
        0,
        "Stable",
        "consumer",
        "range",
    )
    (one,) = seen.members
    assert (one.member_id, one.client_id, one.client_host) == (member.id, "oracle", "/" + c.socket.getsockname()[0])
    assert (one.member_metadata, one.member_assignment) == (subscription(lasting), b"the plan")
    assert version < 3 or seen.authorized_operations == UNASKED
    assert version < 4 or one.group_instance_id == "instance"
    assert version < 6 or seen.error_message is None


def test_a_dynamic_member_has_no_instance_id(c, group, lasting):
    stable(c, group, [lasting])
    assert [m.group_instance_id for m in describe(c, group, 4).members] == [None]


@pytest.mark.parametrize("version", [0, 5, 6])
def test_a_completing_group_shows_members_without_protocol_metadata_or_assignment(c, group, lasting, version):
    member = joined(c, group, [lasting])
    seen = describe(c, group, version)
    assert (seen.group_state, seen.protocol_type, seen.protocol_data) == ("CompletingRebalance", "consumer", "")
    assert [(m.member_id, m.client_id, m.member_metadata, m.member_assignment) for m in seen.members] == [
        (member.id, "oracle", b"", b"")
    ]


def test_an_emptied_group_keeps_its_protocol_type_and_has_no_members(c, group, lasting):
    """https://github.com/Azure/azure-event-hubs-for-kafka/issues/125
    https://github.com/Azure/azure-event-hubs-for-kafka/issues/143
    """
    emptied(c, group, [lasting])
    seen = describe(c, group, 6)
    assert (int(seen.error_code), seen.group_state, seen.protocol_type, seen.protocol_data, seen.members) == (
        0,
        "Empty",
        "consumer",
        "",
        (),
    )


def test_a_simple_group_is_empty_and_has_no_protocol_type(c, group, lasting):
    commit(c, group, {(lasting, 0): 1})
    seen = describe(c, group, 6)
    assert (int(seen.error_code), seen.group_state, seen.protocol_type, seen.members) == (0, "Empty", "", ())


def test_every_group_asked_for_is_described_even_twice(c, group, lasting):
    other, unknown = group + "-other", group + "-unknown"
    stable(c, group, [lasting])
    emptied(c, other, [lasting])
    answer = ask(c, "DescribeGroups", 6, groups=[group, unknown, other, group])
    assert sorted((g.group_id, g.group_state, int(g.error_code)) for g in answer.groups) == sorted(
        [(group, "Stable", 0), (group, "Stable", 0), (other, "Empty", 0), (unknown, "Dead", 69)]
    )
    assert ask(c, "DescribeGroups", 5, groups=[]).groups == ()


@pytest.mark.parametrize("version", [3, 5, 6])
def test_authorized_operations_are_told_only_when_asked_for(c, group, lasting, version):
    commit(c, group, {(lasting, 0): 1})
    read, delete, describing = 1 << 3, 1 << 6, 1 << 8
    told = describe(c, group, version, include_authorized_operations=True).authorized_operations
    assert told > 0 and told & (read | delete | describing) == read | delete | describing
    assert describe(c, group, version).authorized_operations == UNASKED


@pytest.mark.parametrize("version, code", [(5, 0), (6, 69)])
def test_a_consumer_group_is_dead_to_those_who_ask_for_classic_ones(c, group, lasting, version, code):
    modern(c, group, lasting)
    seen = describe(c, group, version)
    assert (int(seen.error_code), seen.group_state, seen.members) == (code, "Dead", ())


# ListGroups


@pytest.fixture
def kinds(connect, c, group, lasting):
    """One group of each state and type; `simple` and `empty` are both Empty."""
    names = {what: f"{group}-{what}" for what in ("stable", "completing", "preparing", "empty", "simple", "modern")}
    stable(c, names["stable"], [lasting])
    joined(c, names["completing"], [lasting])
    preparing(c, connect(), names["preparing"], [lasting])
    emptied(c, names["empty"], [lasting])
    commit(c, names["simple"], {(lasting, 0): 1})
    modern(c, names["modern"], lasting)
    return names


def which(c, names, version=5, **filters):
    seen = listed(c, version, **filters)
    return {what for what, name in names.items() if name in seen}


@pytest.mark.parametrize("version", range(6))
def test_every_group_is_listed_once_with_what_the_version_can_say(c, kinds, version):
    answer = ask(c, "ListGroups", version)
    rows = {g.group_id: g for g in answer.groups}
    assert len(rows) == len(answer.groups)
    seen = {what: rows[name] for what, name in kinds.items()}
    assert {what: g.protocol_type for what, g in seen.items()} == {**dict.fromkeys(kinds, "consumer"), "simple": ""}
    if version >= 4:
        assert {what: g.group_state for what, g in seen.items()} == {
            "stable": "Stable",
            "completing": "CompletingRebalance",
            "preparing": "PreparingRebalance",
            "empty": "Empty",
            "simple": "Empty",
            "modern": "Stable",
        }
    if version >= 5:
        assert {what: g.group_type for what, g in seen.items()} == {
            **dict.fromkeys(kinds, "classic"),
            "modern": "consumer",
        }


def test_the_state_filter_ignores_case_and_takes_several(c, kinds):
    assert (
        which(c, kinds, 4, states_filter=["Stable"])
        == which(c, kinds, states_filter=["sTABLE"])
        == {"stable", "modern"}
    )
    assert which(c, kinds, states_filter=["preparingrebalance", "EMPTY"]) == {"preparing", "empty", "simple"}
    assert which(c, kinds, states_filter=["CompletingRebalance"]) == {"completing"}
    assert which(c, kinds, states_filter=[]) == set(kinds)


def test_the_type_filter_ignores_case_and_joins_with_the_state_filter(c, kinds):
    assert (
        which(c, kinds, types_filter=["classic"])
        == which(c, kinds, types_filter=["CLASSIC"])
        == set(kinds) - {"modern"}
    )
    assert which(c, kinds, types_filter=["Consumer"]) == {"modern"}
    assert which(c, kinds, types_filter=["Classic", "Consumer"]) == which(c, kinds, types_filter=[]) == set(kinds)
    assert which(c, kinds, types_filter=["Classic"], states_filter=["Stable"]) == {"stable"}


def test_an_unknown_filter_value_matches_nothing_and_hides_nothing(c, kinds):
    for filters in (
        {"states_filter": ["Bogus"]},
        {"states_filter": [""]},
        {"types_filter": ["bogus"]},
        {"types_filter": [""]},
    ):
        assert listed(c, **filters) == {}
    assert which(c, kinds, states_filter=["Bogus", "Empty"]) == {"empty", "simple"}
    assert which(c, kinds, types_filter=["bogus", "consumer"]) == {"modern"}


# DeleteGroups


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_deleted_group_is_gone_with_its_offsets(c, group, lasting, version):
    emptied(c, group, [lasting])
    commit(c, group, {(lasting, 0): 1})
    assert delete_groups(c, group, version=version) == [(group, 0)]
    assert state(c, group) == "Dead" and group not in listed(c) and committed(c, group) == {}
    assert delete_groups(c, group, version=version) == [(group, 69)]


def test_a_deleted_group_may_be_made_again_without_its_past(c, group, lasting):
    commit(c, group, {(lasting, 0): (1, -1, "old"), (lasting, 1): 2})
    delete_groups(c, group)
    assert commit_code(c, group, lasting, offset=5) == 0
    assert committed(c, group) == {(lasting, 0): Offset(5)}


@pytest.mark.parametrize("where", ["Stable", "CompletingRebalance", "PreparingRebalance"])
def test_a_group_with_members_is_not_deleted_and_lives_on(connect, c, group, lasting, where):
    commit(c, group, {(lasting, 0): 1})
    member = (
        preparing(c, connect(), group, [lasting])
        if where == "PreparingRebalance"
        else (stable if where == "Stable" else joined)(c, group, [lasting])
    )
    assert delete_groups(c, group) == [(group, 68)]
    assert beat(c, group, member) == (27 if where == "PreparingRebalance" else 0)
    assert offset(c, group, lasting).offset == 1


def test_each_of_several_groups_is_deleted_by_its_own_merits(c, group, lasting):
    names = live, empty, simple, unknown = [f"{group}-{what}" for what in ("live", "empty", "simple", "unknown")]
    stable(c, live, [lasting])
    emptied(c, empty, [lasting])
    commit(c, simple, {(lasting, 0): 1})
    assert dict(delete_groups(c, *names)) == {live: 68, empty: 0, simple: 0, unknown: 69}
    assert [state(c, name) for name in names] == ["Stable", "Dead", "Dead", "Dead"]


def test_a_group_named_twice_is_deleted_once(c, group, lasting):
    commit(c, group, {(lasting, 0): 1})
    assert delete_groups(c, group, group) == [(group, 0)]
    assert delete_groups(c) == []


def test_a_group_that_never_committed_can_be_deleted(c, group, lasting):
    """https://github.com/redpanda-data/console/issues/458"""
    emptied(c, group, [lasting])
    assert committed(c, group) == {}
    assert delete_groups(c, group) == [(group, 0)] and group not in listed(c)


def test_a_consumer_group_is_deleted_once_its_members_left(c, group, lasting):
    member = modern(c, group, lasting)
    assert delete_groups(c, group) == [(group, 68)]
    modern_leave(c, group, member)
    assert listed(c)[group].group_state == "Empty"
    assert delete_groups(c, group) == [(group, 0)] and group not in listed(c)
