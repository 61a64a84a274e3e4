"""Between clients and the broker: requests and answers are late, lost, doubled and out of order."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import msgspec

from kaas.coordinator.events import ConsumerHeartbeat, Join
from tests.simulation.calls import Call

NEAR = 6
"""So many of the oldest messages may overtake one another."""


class Network:
    """`loss` and `doubling` are probabilities. `deliver` hands the next request to the broker, or the next answer to a
    client."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.loss = 0.0
        self.doubling = 0.0
        self.messages: list[Callable[[], None]] = []

    def send(self, ask: Callable[[Call], None], call: Call) -> None:
        """A request sets out. A lost one is never heard of again: its client must lose patience."""
        if self.dice.random() < self.doubling and may_come_twice(call.event):
            twin = Call(kind=call.kind, group_id=call.group_id, hear=lambda answer: None, event=again(call.event))
            self._put(lambda late: None if is_too_late(late, call) else ask(late), twin)
        self._put(ask, call)

    def _put(self, ask: Callable[[Call], None], call: Call) -> None:
        hear = call.hear
        call.hear = lambda answer: self._answer(hear, answer)
        call.event = msgspec.structs.replace(call.event, reply_to=call)
        if self.dice.random() >= self.loss:
            self.messages.append(lambda: self._arrive(ask, call))

    def _arrive(self, ask: Callable[[Call], None], call: Call) -> None:
        call.came = True
        ask(call)

    def _answer(self, hear: Callable[[Any], None], answer: Any) -> None:
        if answer is None or self.dice.random() >= self.loss:
            self.messages.append(lambda: hear(answer))

    def deliver(self) -> bool:
        """One message arrives, if there is one."""
        if not self.messages:
            return False
        self.messages.pop(self.dice.randrange(min(NEAR, len(self.messages))))()
        return True


def may_come_twice(event: Any) -> bool:
    """Whoever sends a request again has missed the answer. A member of a consumer group says everything then, so a heartbeat
    that does not cannot come twice."""
    return not isinstance(event, ConsumerHeartbeat) or event.epoch == 0 or event.rebalance_timeout_ms != -1


def is_too_late(twin: Call, call: Call) -> bool:
    """A member of a consumer group that asks again has closed the connection of its first request, so nothing of that comes
    after the second. If it did, the answer with the assignment would go to nobody, and a member that says only that it lives is
    not told again, in Apache 4.2 neither."""
    return isinstance(twin.event, ConsumerHeartbeat) and call.came


def again(event: Any) -> Any:
    """The same request once more; the broker draws another id for it."""
    return msgspec.structs.replace(event, fresh_id=f"{event.fresh_id}'") if isinstance(event, Join) else event
