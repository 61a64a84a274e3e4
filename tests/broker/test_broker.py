"""The record of a broker's parts."""

import pytest

from kaas.broker.broker import Broker
from kaas.broker.clock import Clock
from kaas.broker.configs import Configs
from kaas.broker.settings import parse
from tests.support.in_process import serving


def made(folder):
    settings = parse([])
    return Broker(
        broker_id=1,
        host="127.0.0.1",
        port=0,
        incarnation="i",
        started_at=0,
        settings=settings,
        configs=Configs(folder / "configs.json", 1, settings, lambda: None),
        clock=Clock(),
    )


def test_a_new_one_allows_everything_and_counts_nothing(tmp_path):
    broker = made(tmp_path)
    assert broker.rules is None and not broker.quotas and not broker.gates


@pytest.mark.parametrize("part", ["cluster", "groups", "topics"])
async def test_what_the_start_makes_is_not_there_before_it(tmp_path, part):
    with pytest.raises(AttributeError):
        getattr(made(tmp_path), part)
    async with serving(tmp_path) as peer:
        assert getattr(peer.broker, part) is not None
