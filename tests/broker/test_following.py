"""What uses a setting follows it while the broker runs."""

from kaas.broker.configs import ALL_BROKERS
from kaas.coordinator import timers
from kaas.wire.apis import CREATE_PARTITIONS, JOIN_GROUP, METADATA
from tests.broker.handlers.groups import QUICK, commit, join_values
from tests.broker.handlers.topics import create
from tests.broker.test_config_targets import altered
from tests.support.in_process import serving

BROKER, TOPIC, GROUP = 4, 2, 32


def logs(peer, name):
    return peer.broker.topics.registry.get(name).partitions


async def test_the_coordinator_judges_by_the_settings_as_they_are(tmp_path):
    async with serving(tmp_path, **QUICK) as peer:
        values = join_values("g", session_timeout=30_000)
        assert (await peer.ask(JOIN_GROUP, 5, **values)).error_code == 79
        await altered(peer.broker, BROKER, "1", {"group.max.session.timeout.ms": "10000"})
        assert (await peer.ask(JOIN_GROUP, 5, **values)).error_code == 26
        await altered(peer.broker, BROKER, "1", {"offset.metadata.max.bytes": "2"})
        await create(peer, "t")
        assert await commit(peer, {("t", 0): 100}) == {("t", 0): 12}


async def test_a_round_whose_interval_changed_begins_anew(tmp_path):
    async with serving(tmp_path) as peer:
        set_to = {}
        service = peer.broker.groups.timers
        service.set = lambda key, due_ms: set_to.__setitem__(key, due_ms)
        now_ms = peer.broker.clock.now_ms()
        await altered(peer.broker, BROKER, "", {"offsets.retention.check.interval.ms": "5000"})
        assert set_to.keys() == {timers.RETENTION}
        assert 0 <= set_to[timers.RETENTION] - now_ms - 5_000 < 5_000


async def test_logs_follow_the_broker_where_their_topic_sets_nothing(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", 2)
        await create(peer, "own", retention_ms="9")
        await altered(peer.broker, BROKER, ALL_BROKERS, {"log.retention.ms": "7"})
        assert [log.config.retention_ms for log in logs(peer, "t")] == [7, 7]
        assert logs(peer, "own")[0].config.retention_ms == 9


async def test_topics_that_come_or_grow_later_follow_as_well(tmp_path):
    async with serving(tmp_path) as peer:
        await altered(peer.broker, BROKER, "1", {"log.retention.ms": "7"})
        await create(peer, "t")
        await peer.ask(METADATA, 5, topics=[{"name": "auto"}], allow_auto_topic_creation=True)
        grown = {"topics": [{"name": "t", "count": 3}], "timeout": 1_000, "validate_only": False}
        assert (await peer.ask(CREATE_PARTITIONS, 2, **grown)).results[0].error_code == 0
        assert {log.config.retention_ms for name in ("t", "auto") for log in logs(peer, name)} == {7}
        assert len(logs(peer, "t")) == 3


async def test_a_topic_that_takes_its_setting_back_follows_the_broker(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t", retention_ms="9")
        await altered(peer.broker, BROKER, "1", {"log.retention.ms": "7"})
        await altered(peer.broker, TOPIC, "t", {"retention.ms": None})
        assert logs(peer, "t")[0].config.retention_ms == 7


async def test_changes_outlive_a_restart(tmp_path):
    async with serving(tmp_path) as peer:
        await create(peer, "t")
        await altered(peer.broker, BROKER, "1", {"log.retention.ms": "7", "num.partitions": "3"})
    async with serving(tmp_path) as peer:
        assert peer.broker.settings["num.partitions"] == 3
        assert logs(peer, "t")[0].config.retention_ms == 7


async def test_a_group_is_judged_by_what_was_set_on_it_at_once_and_after_a_restart(tmp_path):
    async with serving(tmp_path) as peer:
        core = peer.broker.groups.coordinator
        assert (core.consumer_session_timeout_ms("g"), core.consumer_heartbeat_interval_ms("g")) == (45_000, 5_000)
        await altered(peer.broker, GROUP, "g", {"consumer.session.timeout.ms": "50000"})
        assert (core.consumer_session_timeout_ms("g"), core.consumer_session_timeout_ms("h")) == (50_000, 45_000)
    async with serving(tmp_path) as peer:
        core = peer.broker.groups.coordinator
        assert (core.consumer_session_timeout_ms("g"), core.consumer_heartbeat_interval_ms("g")) == (50_000, 5_000)
        await altered(peer.broker, GROUP, "g", {"consumer.session.timeout.ms": None})
        assert core.consumer_session_timeout_ms("g") == 45_000
