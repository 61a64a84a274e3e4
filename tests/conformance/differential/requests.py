"""A step as the request that it stands for, and the answer in terms that two brokers have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kaas.wire.apis import (
    ADD_OFFSETS_TO_TXN,
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    END_TXN,
    HEARTBEAT,
    INIT_PRODUCER_ID,
    JOIN_GROUP,
    LEAVE_GROUP,
    LIST_GROUPS,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH,
    SYNC_GROUP,
    TXN_OFFSET_COMMIT,
    Api,
)
from tests.conformance.differential.excuses import pinned
from tests.conformance.differential.steps import NOBODY, OWN, REBALANCE_MS, SESSION_MS, STRANGER, Step, Whose

APIS: dict[str, Api] = {
    "join": JOIN_GROUP,
    "sync": SYNC_GROUP,
    "heartbeat": HEARTBEAT,
    "leave": LEAVE_GROUP,
    "commit": OFFSET_COMMIT,
    "fetch": OFFSET_FETCH,
    "describe": DESCRIBE_GROUPS,
    "list": LIST_GROUPS,
    "delete offsets": OFFSET_DELETE,
    "delete group": DELETE_GROUPS,
    "init": INIT_PRODUCER_ID,
    "add group": ADD_OFFSETS_TO_TXN,
    "stage": TXN_OFFSET_COMMIT,
    "end": END_TXN,
}
READS = frozenset({"fetch", "describe", "list"})
"""What may be asked again until both sides have caught up."""
BUSY_CODES = frozenset({14, 15, 16, 51})
"""A coordinator that loads, or still ends the transaction before: clients ask again, and so does the player."""
STRANGERS_ID = "nobody-was-ever-given-this"
EMPTY_ASSIGNMENTS = (b"", b"\0\0\0\0\0\0\xff\xff\xff\xff", b"\0\1\0\0\0\0\xff\xff\xff\xff", b"\0\0\0\0\0\0\0\0\0\0")
NOTHING = "nothing"


@dataclass(slots=True)
class Client:
    """What a client was told last."""

    id: str = ""
    generation: int = -1
    protocol: str | None = None
    producer_id: int = -1
    producer_epoch: int = -1


@dataclass(slots=True)
class Names:
    """Names of values that each broker makes up, in the order in which they appear."""

    known: dict[str, str] = field(default_factory=dict)

    producers: dict[int, int] = field(default_factory=dict)

    def of_producer(self, producer_id: int) -> int:
        """A number for a producer id."""
        return producer_id if producer_id < 0 else self.producers.setdefault(producer_id, len(self.producers))

    def of(self, member_id: str) -> str:
        """What stands for a member id; its beginning is not made up."""
        if member_id in ("", STRANGERS_ID):
            return member_id
        if member_id not in self.known:
            self.known[member_id] = f"{member_id[:-37]}-#{len(self.known)}"
        return self.known[member_id]


class Translator:
    """Requests and answers of one sequence on one broker. `apis`: which API a step is of."""

    apis: Mapping[str, Api] = APIS

    def __init__(self, group: str, clients: list[Client]) -> None:
        self.group = group
        self.clients = clients
        self.names = Names()

    # Requests

    def id_of(self, step: Step, whose: Whose) -> str:
        if whose == NOBODY:
            return ""
        if whose == STRANGER:
            return STRANGERS_ID
        return self.clients[step.client if whose == OWN else int(whose)].id

    def values(self, step: Step) -> dict[str, Any]:
        """The request."""
        made: dict[str, Any] = getattr(self, "_" + step.what.replace(" ", "_"))(step)
        return made

    def _who(self, step: Step) -> dict[str, Any]:
        return {
            "group_id": self.group,
            "generation_id": self.clients[step.client].generation + step.generation,
            "member_id": self.id_of(step, step.who),
            "group_instance_id": step.instance,
        }

    def _join(self, step: Step) -> dict[str, Any]:
        protocols = [{"name": name, "metadata": metadata} for name, metadata in step.more["protocols"]]
        return {
            "group_id": self.group,
            "member_id": self.id_of(step, step.who),
            "group_instance_id": step.instance,
            "session_timeout": step.more.get("session", SESSION_MS),
            "rebalance_timeout": REBALANCE_MS,
            "protocol_type": step.more.get("protocol_type", "consumer"),
            "protocols": protocols,
        }

    def _sync(self, step: Step) -> dict[str, Any]:
        name = step.more.get("protocol_name", OWN)
        assigned = self.clients[: step.more["assigned"]]
        rows = {client.id: f"for {self.names.of(client.id)}".encode() for client in assigned if client.id}
        return {
            **self._who(step),
            "protocol_type": step.more.get("protocol_type", "consumer"),
            "protocol_name": self.clients[step.client].protocol if name == OWN else name,
            "assignments": [{"member_id": member_id, "assignment": what} for member_id, what in rows.items()],
        }

    def _heartbeat(self, step: Step) -> dict[str, Any]:
        return self._who(step)

    def _leave(self, step: Step) -> dict[str, Any]:
        rows = [(step.who, step.instance), *step.more["others"]]
        members = [{"member_id": self.id_of(step, who), "group_instance_id": instance} for who, instance in rows]
        return {"group_id": self.group, "member_id": self.id_of(step, step.who), "members": members}

    def _commit(self, step: Step) -> dict[str, Any]:
        topics: dict[str, list[dict[str, Any]]] = {}
        for topic, partition, offset, epoch, metadata in step.more["rows"]:
            row = {"partition_index": partition, "committed_offset": offset, "committed_leader_epoch": epoch}
            topics.setdefault(topic, []).append({**row, "committed_metadata": metadata})
        who = self._who(step)
        return {
            **who,
            "generation_id_or_member_epoch": max(who.pop("generation_id"), -1),
            "retention_time": -1,
            "topics": [{"name": topic, "partitions": rows} for topic, rows in topics.items()],
        }

    def _fetch(self, step: Step) -> dict[str, Any]:
        asked = step.more["asked"]
        topics = None if asked is None else [{"name": t, "partition_indexes": list(p)} for t, p in asked]
        group = {"group_id": self.group, "member_id": None, "member_epoch": -1, "topics": topics}
        return {"group_id": self.group, "topics": topics, "groups": [group], "require_stable": step.more["stable"]}

    def _describe(self, step: Step) -> dict[str, Any]:
        return {"groups": [self.group], "include_authorized_operations": False}

    def _list(self, step: Step) -> dict[str, Any]:
        return step.more

    def _delete_offsets(self, step: Step) -> dict[str, Any]:
        rows = [{"name": topic, "partitions": [{"partition_index": p}]} for topic, p in dict(step.more["rows"]).items()]
        return {"group_id": self.group, "topics": rows}

    def _delete_group(self, step: Step) -> dict[str, Any]:
        return {"groups_names": [self.group]}

    def _producer(self, step: Step) -> dict[str, Any]:
        client = self.clients[step.client]
        return {
            "transactional_id": f"{self.group}-{step.client}",
            "producer_id": client.producer_id,
            "producer_epoch": client.producer_epoch,
        }

    def _init(self, step: Step) -> dict[str, Any]:
        nobody = {"producer_id": -1, "producer_epoch": -1}
        return {**self._producer(step), **nobody, "transaction_timeout": SESSION_MS}

    def _add_group(self, step: Step) -> dict[str, Any]:
        return {**self._producer(step), "group_id": self.group}

    def _stage(self, step: Step) -> dict[str, Any]:
        staged = self._commit(step)
        producer = self._producer(step)
        producer["producer_epoch"] += step.more["epoch"]
        generation = max(self.clients[step.client].generation + step.generation, -1)
        return {**self._who(step), **producer, "generation_id": generation, "topics": staged["topics"]}

    def _end(self, step: Step) -> dict[str, Any]:
        return {**self._producer(step), "committed": step.more["commits"]}

    # Answers

    def is_busy(self, step: Step, answer: Any) -> bool:
        """Whether a coordinator says to ask again."""
        if step.what == "stage":
            return any(int(row.error_code) in BUSY_CODES for topic in answer.topics for row in topic.partitions)
        return step.what in ("init", "add group", "end") and int(answer.error_code) in BUSY_CODES

    def learn(self, step: Step, answer: Any) -> None:
        """What the client takes from an answer to its Join."""
        if step.what == "join" and int(answer.error_code) in (0, 79):
            client = self.clients[step.client]
            client.id = answer.member_id
            if not answer.error_code:
                client.generation, client.protocol = answer.generation_id, answer.protocol_name
        elif step.what == "init" and not answer.error_code:
            client = self.clients[step.client]
            client.producer_id, client.producer_epoch = answer.producer_id, answer.producer_epoch

    def told(self, step: Step, answer: Any) -> Any:
        """The answer without what each broker makes up, and without orders that mean nothing."""
        teller = getattr(self, "_told_" + step.what, None)
        return teller(answer) if teller is not None else self._plain(answer)

    def _told_list(self, answer: Any) -> Any:
        """Only this sequence's group: others come and go."""
        rows = [row for row in answer.groups if row.group_id == self.group]
        return {"error_code": int(answer.error_code), "groups": self._plain(rows)}

    def _told_describe(self, answer: Any) -> Any:
        (group,) = answer.groups
        told = self._plain(group)
        told.pop("error_message", None)
        return pinned(told)

    def _plain(self, value: Any) -> Any:
        """Entities of kio as dicts, codes as ints, ids by name, rows in one order."""
        if isinstance(value, tuple | list):
            return sorted((self._plain(one) for one in value), key=str)
        if hasattr(value, "__dataclass_fields__"):
            names = [name for name in value.__dataclass_fields__ if not name.startswith("_")]
            return {name: self._field(name, getattr(value, name)) for name in names if name != "throttle_time"}
        return int(value) if isinstance(value, int) else value

    def _field(self, name: str, value: Any) -> Any:
        if name in ("member_id", "leader"):
            return self.names.of(value)
        if name == "producer_id":
            return self.names.of_producer(value)
        if name in ("assignment", "member_assignment") and value in EMPTY_ASSIGNMENTS:
            return NOTHING
        if name in ("client_host", "group_id"):
            return ""
        return self._plain(value)
