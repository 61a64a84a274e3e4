"""What is in flight: nothing else moves until the last record has settled."""

from __future__ import annotations

from kaas.coordinator.transactions.holder import Holder
from kaas.coordinator.transactions.state import fresh


def test_an_id_moves_until_nothing_is_in_flight():
    holder = Holder(fresh("pay", 7, 60_000, 5), in_flight=2, moving=True)
    holder.settle()
    assert holder.moving and holder.in_flight == 1
    holder.settle()
    assert not holder.moving and not holder.in_flight


def test_a_new_id_waits_for_nobody_and_owes_nobody():
    holder = Holder(fresh("pay", 7, 60_000, 5))
    assert (holder.durable, holder.ending, holder.untold, holder.moving) == (None, None, (), False)
