import pytest

from kaas.coordinator.announcements import MemberChange
from kaas.wire.apis import LEAVE_GROUP
from tests.broker.handlers.groups import QUICK, stable
from tests.support.in_process import serving


@pytest.mark.parametrize("version", range(3))
async def test_one_member_leaves_in_the_first_versions(tmp_path, version):
    async with serving(tmp_path, **QUICK) as peer:
        member = await stable(peer)
        assert (await peer.ask(LEAVE_GROUP, version, group_id="g", member_id=member.id)).error_code == 0
        assert (await peer.ask(LEAVE_GROUP, version, group_id="g", member_id=member.id)).error_code == 25


@pytest.mark.parametrize("version", [3, 4, 5])
async def test_each_of_many_members_has_an_answer_of_its_own(tmp_path, version):
    async with serving(tmp_path, **QUICK) as peer:
        member = await stable(peer, instance="i")
        rows = [{"member_id": "who"}, {"member_id": "", "group_instance_id": "i"}, {"member_id": member.id}]
        answer = await peer.ask(LEAVE_GROUP, version, group_id="g", members=rows)
        assert answer.error_code == 0
        told = [(m.member_id, m.group_instance_id, int(m.error_code)) for m in answer.members]
        assert told == [("who", None, 25), ("", "i", 0), (member.id, None, 25)]


async def test_an_error_of_the_request_stands_at_the_top(tmp_path):
    async with serving(tmp_path) as peer:
        assert (await peer.ask(LEAVE_GROUP, 1, group_id="", member_id="m")).error_code == 24
        assert (await peer.ask(LEAVE_GROUP, 5, group_id="", members=[{"member_id": "m"}])).error_code == 24


async def test_a_reason_is_told_to_the_audience(tmp_path):
    async with serving(tmp_path, **QUICK) as peer:
        member = await stable(peer)
        told = []
        peer.broker.groups.audience.heard = lambda group_id, what: told.append(what)
        rows = [{"member_id": member.id, "reason": "the consumer is being closed"}]
        await peer.ask(LEAVE_GROUP, 5, group_id="g", members=rows)
        (gone,) = [what for what in told if isinstance(what, MemberChange)]
        assert gone.reason == "the consumer is being closed"
