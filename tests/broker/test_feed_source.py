"""What the feed is told of a broker, and the start of the feed."""

import msgspec
import redis

from kaas.broker.feed_source import BrokerSource
from kaas.broker.server import Server
from kaas.broker.settings import parse
from kaas.feed import keys
from kaas.wire.apis import OFFSET_COMMIT
from tests.broker.handlers.topics import create
from tests.support.in_process import Peer, serving
from tests.support.valkey import valkey
from tests.support.waiting import until_async


async def test_a_broker_is_alive_and_says_where(tmp_path):
    async with serving(tmp_path) as peer:
        view = BrokerSource(peer.broker).broker_view()
        assert (view.id, view.host, view.port, view.state, view.error) == (
            1,
            "127.0.0.1",
            peer.broker.port,
            "alive",
            None,
        )
        assert view.incarnation == peer.broker.incarnation and view.started_at <= view.at
        assert (view.assignment_version, view.group_count) == (1, 0)


async def test_a_broker_whose_disk_refuses_is_read_only_and_says_why(tmp_path):
    async with serving(tmp_path) as peer:
        peer.broker.groups.disk_error = OSError(28, "No space left on device")
        view = BrokerSource(peer.broker).broker_view()
        assert view.state == "read_only" and "No space left" in view.error


async def test_topics_are_told_with_the_ends_of_their_logs(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        (view,) = BrokerSource(peer.broker).topic_views(everything=True)
        assert (view.topic, view.partitions) == ("t", [(0, 0, 0), (0, 0, 0)])


async def test_a_broker_with_redis_tells_its_groups(tmp_path):
    settings = parse(["kaas.cluster=here", "kaas.feed.commits.interval.ms=10"])
    with valkey(tmp_path / "v") as url:
        server = Server(data=tmp_path, host="127.0.0.1", port=0, broker_id=1, settings=settings, redis_url=url)
        await server.start()
        await server.loaded()
        peer = await Peer.connect(server)
        try:
            await create(peer, "t")
            row = {"partition_index": 0, "committed_offset": 3, "committed_metadata": ""}
            topics = [{"name": "t", "partitions": [row]}]
            await peer.ask(OFFSET_COMMIT, 8, group_id="g", generation_id_or_member_epoch=-1, topics=topics)
            with redis.Redis.from_url(url) as client:
                text = await until_async(lambda: client.hget(keys.groups("here"), "g"))
            assert msgspec.json.decode(text)["offsets"]["t/0"]["committed"] == 3
        finally:
            peer.close()
            await server.stop()
