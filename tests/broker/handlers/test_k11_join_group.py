import asyncio

import pytest

from kaas.wire.apis import HEARTBEAT, JOIN_GROUP
from tests.broker.handlers.groups import QUICK, join, join_values, stable, subscription
from tests.support.in_process import Peer, serving


@pytest.mark.parametrize("version", range(10))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path, **QUICK) as peer:
        answer = await join(peer, version=version)
        assert (answer.error_code, answer.generation_id, answer.protocol_name) == (0, 1, "range")
        assert answer.leader == answer.member_id and answer.member_id.startswith("test-")
        assert [(m.member_id, m.metadata) for m in answer.members] == [(answer.member_id, subscription("t"))]
        assert version < 7 or answer.protocol_type == "consumer"


@pytest.mark.parametrize(("version", "code"), [(3, 0), (4, 79), (9, 79)])
async def test_a_newcomer_is_told_its_id_first_from_version_4(tmp_path, version, code):
    async with serving(tmp_path, **QUICK) as peer:
        answer = await peer.ask(JOIN_GROUP, version, **join_values("g"))
        assert answer.error_code == code and answer.member_id


@pytest.mark.parametrize(("version", "name"), [(6, ""), (7, None)])
async def test_a_refused_join_has_no_protocol(tmp_path, version, name):
    async with serving(tmp_path) as peer:
        answer = await peer.ask(JOIN_GROUP, version, **join_values("", "who"))
        assert (int(answer.error_code), answer.protocol_name, answer.generation_id) == (24, name, -1)
        assert (answer.member_id, answer.leader, answer.members) == ("who", "", ())


@pytest.mark.parametrize(("version", "instance"), [(4, None), (5, "i")])
async def test_instance_ids_count_from_version_5(tmp_path, version, instance):
    async with serving(tmp_path, **QUICK) as peer:
        await join(peer, version=version, instance="i")
        (member,) = peer.broker.groups.coordinator.groups["g"].classic.members.values()
        assert member.instance_id == instance


async def test_version_0_uses_the_session_timeout_as_rebalance_timeout(tmp_path):
    """https://github.com/kafka4beam/brod/issues/465"""
    async with serving(tmp_path, **QUICK) as peer:
        await join(peer, version=0, session_timeout=7_000)
        (member,) = peer.broker.groups.coordinator.groups["g"].classic.members.values()
        assert (member.session_timeout_ms, member.rebalance_timeout_ms) == (7_000, 7_000)


async def test_a_static_leader_that_restarts_may_skip_the_assignment_from_version_9(tmp_path):
    async with serving(tmp_path, **QUICK) as peer:
        old = await stable(peer, instance="i")
        again = await join(peer, version=9, instance="i")
        assert (again.generation_id, again.skip_assignment, again.leader) == (1, True, again.member_id)
        older = await join(peer, version=8, instance="i")
        assert older.leader == again.member_id != older.member_id and old.id != again.member_id


async def test_a_second_member_waits_for_the_first(tmp_path):
    """https://github.com/tansu-io/tansu/issues/625"""
    async with serving(tmp_path, **QUICK) as peer:
        first = await stable(peer)
        other = await Peer.connect(peer.server)
        waiting = asyncio.ensure_future(join(other, version=3))
        while (await peer.ask(HEARTBEAT, 4, **first.values)).error_code != 27:
            await asyncio.sleep(0.01)
        assert not waiting.done()
        leads, follows = await asyncio.gather(join(peer, member=first.id), waiting)
        assert leads.generation_id == follows.generation_id == 2
        assert (len(leads.members), follows.members) == (2, ())
        other.close()


async def test_the_client_is_remembered_by_its_id_and_address(tmp_path):
    async with serving(tmp_path, **QUICK) as peer:
        await join(peer)
        (member,) = peer.broker.groups.coordinator.groups["g"].classic.members.values()
        assert (member.client_id, member.client_host) == ("test", "/127.0.0.1")
