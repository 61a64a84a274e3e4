"""A step of a consumer group as the request that it stands for, and the answer in terms that two brokers have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from kaas.wire.apis import CONSUMER_GROUP_DESCRIBE, CONSUMER_GROUP_HEARTBEAT, Api
from tests.conformance.differential.consumer_steps import CLIENTS, DESCRIBE, HEARTBEAT, LESS, MORE, NOTHING, TOLD
from tests.conformance.differential.requests import APIS, BUSY_CODES, Client, Translator
from tests.conformance.differential.steps import PARTITIONS, TOPIC, Step

CONSUMER_APIS: dict[str, Api] = {HEARTBEAT: CONSUMER_GROUP_HEARTBEAT, DESCRIBE: CONSUMER_GROUP_DESCRIBE, **APIS}

Held = dict[str, tuple[int, ...]]
"""Topic to partitions."""


@dataclass(slots=True)
class Member(Client):
    """What a member was told last; its generation is its epoch."""

    held: Held = field(default_factory=dict)


class ConsumerTranslator(Translator):
    """Requests and answers of one sequence on one broker. `topics`: names by the ids that this broker gave them."""

    apis = CONSUMER_APIS

    def __init__(self, group: str, topics: dict[UUID, str]) -> None:
        self.members = [Member() for _ in range(CLIENTS)]
        super().__init__(group, list(self.members))
        self._names = topics
        self._ids = {name: id for id, name in topics.items()}

    # Requests

    def id_of(self, step: Step, whose: Any) -> str:
        return str(step.more.get("id", ""))

    def _epoch(self, step: Step) -> int:
        own = self.members[step.client].generation + step.generation
        return int(step.more.get("epoch", own))

    def _who(self, step: Step) -> dict[str, Any]:
        return {**super()._who(step), "generation_id": self._epoch(step)}

    def _consumer_heartbeat(self, step: Step) -> dict[str, Any]:
        more = step.more
        topics = more.get("topics")
        return {
            "group_id": self.group,
            "member_id": more["id"],
            "member_epoch": self._epoch(step),
            "instance_id": step.instance,
            "rack_id": more.get("rack"),
            "rebalance_timeout": more.get("timeout", -1),
            "subscribed_topic_names": None if topics is None else list(topics),
            "subscribed_topic_regex": more.get("regex"),
            "server_assignor": more.get("assignor"),
            "topic_partitions": self._owned(step),
        }

    def _owned(self, step: Step) -> list[dict[str, Any]] | None:
        said = step.more.get("owned")
        if said is None:
            return None
        held = dict(self.members[step.client].held)
        if said == NOTHING:
            held = {}
        elif said == LESS:
            held = {topic: numbers[1:] for topic, numbers in held.items()}
        elif said == MORE:
            held[TOPIC] = tuple(range(PARTITIONS))
        else:
            assert said == TOLD
        return [{"topic_id": self._ids[topic], "partitions": list(numbers)} for topic, numbers in held.items()]

    def _consumer_describe(self, step: Step) -> dict[str, Any]:
        return {"group_ids": [self.group], "include_authorized_operations": False}

    def _leave(self, step: Step) -> dict[str, Any]:
        rows = [{"member_id": id, "group_instance_id": instance} for id, instance in step.more["rows"]]
        return {"group_id": self.group, "members": rows}

    def _fetch(self, step: Step) -> dict[str, Any]:
        values = super()._fetch(step)
        if step.more.get("id"):
            values["groups"][0] |= {"member_id": step.more["id"], "member_epoch": self._epoch(step)}
        return values

    # Answers

    def is_busy(self, step: Step, answer: Any) -> bool:
        """Whether a coordinator says to ask again: a broker that has just started takes its partitions one after another."""
        return step.what == HEARTBEAT and int(answer.error_code) in BUSY_CODES

    def learn(self, step: Step, answer: Any) -> None:
        """What a member takes from the answer to its heartbeat, unless that is lost."""
        if step.what != HEARTBEAT or answer.error_code or step.more["lost"]:
            return
        member = self.members[step.client]
        member.generation = answer.member_epoch
        if answer.assignment is not None:
            member.held = self._held(answer.assignment)

    def _held(self, assignment: Any) -> Held:
        return {self._names[row.topic_id]: tuple(sorted(row.partitions)) for row in assignment.topic_partitions}

    def _told_consumer_heartbeat(self, answer: Any) -> Any:
        return self._plain(answer)

    def _told_consumer_describe(self, answer: Any) -> Any:
        (group,) = answer.groups
        return self._plain(group)

    def _told_describe(self, answer: Any) -> Any:
        (group,) = answer.groups
        return self._plain(group)

    def _field(self, name: str, value: Any) -> Any:
        if name == "topic_id":
            return self._names[value]
        if name == "member_id":
            return value
        if name == "error_message":
            return None
        return super()._field(name, value)
