import struct

from kaas.broker.handlers.k47_offset_delete import API
from kaas.wire.apis import OFFSET_DELETE
from kaas.wire.encode import encode_response
from tests.broker.handlers.groups import QUICK, commit, committed, stable
from tests.broker.handlers.topics import create
from tests.support.in_process import serving


async def delete(peer, group, *partitions):
    rows = [{"name": topic, "partitions": [{"partition_index": p}]} for topic, p in partitions]
    answer = await peer.ask(OFFSET_DELETE, 0, group_id=group, topics=rows)
    codes = {(t.name, p.partition_index): int(p.error_code) for t in answer.topics for p in t.partitions}
    return int(answer.error_code), codes


async def test_it_works(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        await commit(peer, {("t", 0): 5, ("t", 1): 6})
        assert await delete(peer, "g", ("t", 0)) == (0, {("t", 0): 0})
        assert await committed(peer) == {("t", 1): 6}


async def test_what_is_not_there_fails_alone_and_what_was_never_committed_does_not(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        await commit(peer, {("t", 0): 5})
        rows = (("t", 0), ("t", 1), ("t", 2), ("u", 0))
        assert await delete(peer, "g", *rows) == (0, {("t", 0): 0, ("t", 1): 0, ("t", 2): 3, ("u", 0): 3})


async def test_a_topic_that_a_member_reads_keeps_its_offsets(tmp_path):
    async with serving(tmp_path, **QUICK) as peer:
        await create(peer, "t")
        await create(peer, "u")
        await commit(peer, {("t", 0): 5, ("u", 0): 6})
        await stable(peer)
        assert await delete(peer, "g", ("t", 0), ("u", 0)) == (0, {("t", 0): 86, ("u", 0): 0})
        assert await committed(peer) == {("t", 0): 5}


async def test_an_error_of_the_group_has_no_rows(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        assert await delete(peer, "nobody", ("t", 0)) == (69, {})
        assert await delete(peer, "nobody", ("u", 0)) == (69, {})
        assert await delete(peer, "nobody") == (69, {})
        assert await delete(peer, "", ("t", 0)) == (24, {})


def test_the_error_code_stands_before_the_throttle_time():
    assert encode_response(API.key, 0, {"error_code": 69, "throttle_time": 7}) == struct.pack(">hii", 69, 7, 0)


async def test_after_a_restart_the_offsets_that_were_not_deleted_are_there(tmp_path):
    """A deletion wrote another form of the file, and a restart lost everything."""
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        await commit(peer, {("t", 0): 5, ("t", 1): 6})
        assert await delete(peer, "g", ("t", 0)) == (0, {("t", 0): 0})
    async with serving(tmp_path) as peer:
        assert await committed(peer) == {("t", 1): 6}
