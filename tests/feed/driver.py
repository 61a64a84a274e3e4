"""A coordinator whose disk is instant and whose announcements can be heard: for tests of the feed."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from typing import Any

from kaas.coordinator import events
from kaas.coordinator.announcements import Announcement
from kaas.coordinator.answers import ConsumerHeartbeatAnswer
from kaas.coordinator.config import CoordinatorConfig
from kaas.coordinator.coordinator import Coordinator
from kaas.coordinator.effects import Announce, CancelTimer, Persist, Reply, ResolveRegexes, SetTimer
from kaas.coordinator.timers import TimerKey
from kaas.coordinator.topics import Topic, Topics
from kaas.wire.consumer_protocol import Assignment, Subscription, encode_assignment, encode_subscription
from tests.support.offsets import offset_rows

WALL_OFFSET_MS = 1_700_000_000_000


class Driver:
    """Send events; replies are kept by token, announcements go to `heard`, time moves by `pass_ms`."""

    def __init__(self, heard: Callable[[str, Announcement], None]) -> None:
        self.core = Coordinator(CoordinatorConfig(initial_rebalance_delay_ms=0))
        self.core.out.epoch = 1
        self.heard = heard
        self.now_ms = 1_000
        self.topics_made = 0
        self.timers: dict[TimerKey, int] = {}
        self.replies: dict[Any, Any] = {}
        self.send(events.ClockMoved(wall_offset_ms=WALL_OFFSET_MS))
        self.send(events.Loaded())

    def send(self, event: events.Event) -> None:
        queue = deque([event])
        while queue:
            for effect in self.core.handle(queue.popleft(), self.now_ms):
                match effect:
                    case Reply():
                        self.replies[effect.to] = effect.answer
                    case SetTimer():
                        self.timers[effect.key] = effect.deadline_ms
                    case CancelTimer():
                        self.timers.pop(effect.key, None)
                    case Persist():
                        queue.append(events.Written(up_to=effect.seq))
                    case Announce():
                        self.heard(effect.group_id, effect.what)
                    case ResolveRegexes():
                        found = {pattern: matches(pattern, self.core.topics) for pattern in effect.patterns}
                        queue.append(events.RegexesResolved(group_id=effect.group_id, topics=found))

    def pass_ms(self, ms: int) -> None:
        self.now_ms += ms
        while due := [key for key, deadline in self.timers.items() if deadline <= self.now_ms]:
            key = min(due, key=lambda k: self.timers[k])
            del self.timers[key]
            self.send(events.TimerExpired(key=key))

    # what members do

    def join(
        self,
        token: str,
        group_id: str,
        member_id: str = "",
        *,
        topics: tuple[str, ...] = ("t",),
        instance: str | None = None,
    ) -> None:
        metadata = encode_subscription(Subscription(version=1, topics=topics))
        self.send(
            events.Join(
                reply_to=token,
                group_id=group_id,
                member_id=member_id,
                instance_id=instance,
                client_id="c",
                client_host="/127.0.0.1",
                session_timeout_ms=10_000,
                rebalance_timeout_ms=30_000,
                protocol_type="consumer",
                protocols=(("range", metadata),),
                requires_known_id=False,
                fresh_id=token,
            )
        )

    def sync(
        self,
        token: str,
        group_id: str,
        member_id: str,
        assignments: dict[str, dict[str, tuple[int, ...]]],
        generation: int | None = None,
    ) -> None:
        self.send(
            events.Sync(
                reply_to=token,
                group_id=group_id,
                generation=self.core.groups[group_id].classic.generation if generation is None else generation,
                member_id=member_id,
                instance_id=None,
                protocol_type=None,
                protocol_name=None,
                assignments={m: encode_assignment(Assignment(version=0, partitions=p)) for m, p in assignments.items()},
            )
        )

    def classic_beat(self, group_id: str, member_id: str, generation: int) -> None:
        self.send(
            events.Heartbeat(
                reply_to="beat", group_id=group_id, generation=generation, member_id=member_id, instance_id=None
            )
        )

    def topic(self, name: str, partitions: int) -> None:
        """A topic is there, or has grown; one that is made anew has another id."""
        known = self.core.topics.by_name.get(name)
        self.topics_made += known is None
        topic_id = known.topic_id if known else f"{name}{self.topics_made}".encode().ljust(16, b".")
        self.send(events.TopicKnown(topic=Topic(name, topic_id, partitions)))

    def beat(self, group_id: str, member_id: str, epoch: int, **more: Any) -> ConsumerHeartbeatAnswer:
        """A heartbeat of a member of a consumer group. With epoch 0 it says everything, as a client that joins does."""
        first = {"topics": ("t",), "rebalance_timeout_ms": 30_000, "owned": {}} if epoch == 0 else {}
        self.send(
            events.ConsumerHeartbeat(
                reply_to="beat",
                group_id=group_id,
                member_id=member_id,
                epoch=epoch,
                client_id="c",
                client_host="/127.0.0.1",
                **{**first, **more},
            )
        )
        answer: ConsumerHeartbeatAnswer = self.replies["beat"]
        return answer

    def leave(self, group_id: str, member_id: str) -> None:
        self.send(
            events.Leave(
                reply_to="leave", group_id=group_id, members=(events.Leaving(member_id=member_id, instance_id=None),)
            )
        )

    def commit(
        self, group_id: str, offsets: dict[tuple[str, int], int], member_id: str = "", generation: int = -1
    ) -> None:
        self.send(
            events.Commit(
                reply_to="commit",
                group_id=group_id,
                generation=generation,
                member_id=member_id,
                instance_id=None,
                rows=offset_rows(offsets, at=WALL_OFFSET_MS + self.now_ms),
            )
        )

    def delete_offsets(self, group_id: str, *keys: tuple[str, int]) -> None:
        self.send(events.DeleteOffsets(reply_to="delete", group_id=group_id, partitions=keys))

    def delete_group(self, group_id: str) -> None:
        self.send(events.DeleteGroup(reply_to="delete", group_id=group_id))


def matches(pattern: str, topics: Topics) -> tuple[str, ...]:
    """The topics whose whole name a pattern matches, sorted."""
    return tuple(sorted(name for name in topics.by_name if re.fullmatch(pattern, name)))
