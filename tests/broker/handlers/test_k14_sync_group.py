import pytest

from kaas.wire.apis import SYNC_GROUP
from tests.broker.handlers.groups import QUICK, Joined, join
from tests.support.in_process import serving

NAMED = {"protocol_type": "consumer", "protocol_name": "range"}


@pytest.mark.parametrize("version", range(6))
async def test_it_works_in_every_version(tmp_path, version):
    async with serving(tmp_path, **QUICK) as peer:
        joined = await join(peer)
        member = Joined(group="g", id=joined.member_id, generation=joined.generation_id)
        rows = [{"member_id": member.id, "assignment": b"mine"}]
        answer = await peer.ask(SYNC_GROUP, version, **member.values, **NAMED, assignments=rows)
        assert (answer.error_code, answer.assignment) == (0, b"mine")
        assert version < 5 or (answer.protocol_type, answer.protocol_name) == ("consumer", "range")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"generation_id": 9}, 22),
        ({"member_id": "who"}, 25),
        ({"protocol_name": "no"}, 23),
        ({"protocol_type": None}, 23),
    ],
)
async def test_the_code_of_a_refusal_is_told_without_an_assignment(tmp_path, changes, code):
    async with serving(tmp_path, **QUICK) as peer:
        joined = await join(peer)
        member = Joined(group="g", id=joined.member_id, generation=joined.generation_id)
        answer = await peer.ask(SYNC_GROUP, 5, **{**member.values, **NAMED, **changes}, assignments=[])
        assert (int(answer.error_code), answer.assignment, answer.protocol_name) == (code, b"", None)


async def test_a_member_that_the_leader_left_out_gets_an_assignment_that_can_be_read(tmp_path):
    """Several clients cannot decode zero bytes, which is what Apache Kafka sends.

    https://github.com/tansu-io/tansu/issues/679
    https://github.com/IBM/sarama/issues/2290
    https://github.com/twmb/franz-go/issues/1227
    https://github.com/twmb/franz-go/issues/1187
    """
    async with serving(tmp_path, **QUICK) as peer:
        joined = await join(peer)
        member = Joined(group="g", id=joined.member_id, generation=joined.generation_id)
        answer = await peer.ask(SYNC_GROUP, 5, **member.values, **NAMED, assignments=[])
        assert (answer.error_code, answer.assignment[2:6]) == (0, b"\0\0\0\0")
