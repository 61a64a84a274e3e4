"""Examples for the documentation, made from the shapes themselves: they cannot be out of date.

Job: one lifelike value per property name, and an example of any documented shape from them.
Rules: a value stands where its type fits; what has no value here gets a plain one of its type, so that a new operation has
an example from its first day. The example of every operation is checked against its shape by a test.
Must not know: operations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]

VALUES: dict[str, tuple[Any, ...]] = {
    "action": ("group_delete",),
    "actor": ("ann",),
    "after": (1150, {"state": "Dead"}),
    "assignment_epoch": (None,),
    "before": (1200, {"state": "Empty"}),
    "bootstrap": ("127.0.0.1:9092",),
    "by": ("ann",),
    "cause": ("member_joined",),
    "cause_text": ("billing-worker-2 joined.",),
    "classic_member_count": (None,),
    "client_id": ("billing-worker-2",),
    "cluster": ("local",),
    "code": ("NON_EMPTY_GROUP",),
    "code_number": (68,),
    "command": ("kafka-consumer-groups --bootstrap-server 127.0.0.1:9092 --group billing --reset-offsets …",),
    "committed": (1150,),
    "coordinator": (1,),
    "created_by": ("ann",),
    "csv": ("orders,1,1150\n",),
    "data": ('{"order": 7}',),
    "detail": ({"client_id": "billing-worker-2"},),
    "details": ({"page": ["A valid integer is required."]},),
    "error": (None,),
    "errors": ([],),
    "from": ("billing-worker-1-5e1c3c52",),
    "gets": ([],),
    "gives_up": ([],),
    "group": ("billing",),
    "group_epoch": (None,),
    "group_id": ("billing",),
    "group_pattern": ("billing*",),
    "host": ("/10.0.0.1", "127.0.0.1"),
    "id": (1, "0d6b1a7e-8a56-4a7f-9c32-6d1f0c2f5a10", "1"),
    "instance_id": (None,),
    "key": ("billing",),
    "kind": ("wrong_state", "classic"),
    "lag": (30,),
    "lag_state": ("lagging",),
    "lag_status": ("lagging",),
    "leader": ("billing-worker-1-5e1c3c52",),
    "log_end": (1180,),
    "log_start": (0,),
    "last_stable": (1180,),
    "member": ("billing-worker-2-0b9e77aa",),
    "member_count": (2,),
    "member_id": ("billing-worker-2-0b9e77aa",),
    "message": ("The group is Stable with 2 live members (billing-worker-1, billing-worker-2): stop them first.",),
    "metadata": ("",),
    "name": ("nightly-report",),
    "note": (None,),
    "number": (1,),
    "offset": (1149,),
    "outcome": ("applied", "done", "stable"),
    "owner": ("billing-worker-2-0b9e77aa",),
    "owner_client_id": ("billing-worker-2",),
    "page": (1,),
    "partition": (1,),
    "partitions": ([1],),
    "plan": ("0d6b1a7e-8a56-4a7f-9c32-6d1f0c2f5a10",),
    "port": (9092,),
    "protocol": ("range",),
    "protocol_type": ("consumer",),
    "rack_id": (None,),
    "read_back": (1150,),
    "reason": ("stuck on one record",),
    "replayed": (50,),
    "resource": ("group billing",),
    "role": ("read",),
    "scope": ({"topics": [{"topic": "orders", "partitions": [1]}]},),
    "secret": ("0123456789abcdef",),
    "server_assignor": (None,),
    "session_timeout_ms": (45_000,),
    "rebalance_timeout_ms": (300_000,),
    "snapshot_age_ms": (240,),
    "source": ("feed",),
    "state": ("Stable",),
    "strategy": ("shift",),
    "subscription": (["orders"],),
    "subscription_raw": (None,),
    "subscription_regex": (None,),
    "assignment_raw": (None,),
    "target_assignment": (None,),
    "timer": ("rebalance",),
    "to": ("billing-worker-2-0b9e77aa",),
    "token": (1, "kaas_A5jOpSKMIbvskBRxHMz72KgPMzx4lsQ5OeUpXvY2X_c"),
    "topic": ("orders",),
    "topics": (["orders"],),
    "total": (1,),
    "total_lag": (30,),
    "type": ("classic",),
    "url": ("https://example.org/alerts",),
    "value": (-50,),
    "waits_for": ([],),
    "without_ms": ({"billing-worker-1-5e1c3c52": 120},),
}
"""Property name to the values it may have in an example, each for another type."""

_ENDS = {"expires_at": "2099-12-31T12:00:00.000+00:00"}
"""Times that lie ahead."""

_A_TIME = "2026-01-31T12:00:00.000+00:00"
_OF_TYPE: dict[str | None, Any] = {"string": "text", "integer": 1, "number": 1.0, "boolean": False, "object": {}}
_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}


def example_of(schema: Schema, components: Schema, name: str = "") -> Any:
    """An example of a shape; `name` is the property that it stands for, `components` are the document's schemas.

    Raises KeyError for a reference to a shape that is not there.
    """
    shape = _resolved(schema, components)
    for value in _lifelike(shape, components, name):
        return value
    if shape.get("format") == "date-time":
        return _ENDS.get(name, _A_TIME)
    if "enum" in shape:
        return next(value for value in shape["enum"] if value is not None)
    if "properties" in shape:
        return {key: example_of(one, components, key) for key, one in shape["properties"].items()}
    if shape.get("type") == "array":
        return [example_of(shape["items"], components, name)]
    if isinstance(shape.get("additionalProperties"), Mapping):
        return {"Stable": example_of(shape["additionalProperties"], components)}
    return VALUES["plan"][0] if shape.get("format") == "uuid" else _OF_TYPE.get(shape.get("type"))


def _resolved(schema: Schema, components: Schema) -> Schema:
    """A shape without references; of several alternatives the first, with what stands beside them."""
    shape = dict(schema)
    for several in ("allOf", "oneOf", "anyOf"):
        if several in shape:
            shape = {**shape.pop(several)[0], **shape}
    if "$ref" in shape:
        target = components[shape.pop("$ref").rpartition("/")[2]]
        return {**_resolved(target, components), **shape}
    return shape


def _lifelike(shape: Schema, components: Schema, name: str) -> Iterator[Any]:
    for value in VALUES.get(name, ()):
        if value is None:
            fits = bool(shape.get("nullable"))
        elif "enum" in shape:
            fits = value in shape["enum"]
        elif "type" in shape:
            fits = isinstance(value, _PYTHON_TYPES[shape["type"]]) and shape.get("format") in (None, *_FITTING)
            fits = fits and _holds(value, shape, components) and _matches(value, shape)
        else:
            fits = True
        if fits:
            yield value


_FITTING = ("uuid", "int32", "int64")


def _matches(value: Any, shape: Schema) -> bool:
    """Whether a text is of the form that its shape asks for."""
    return "pattern" not in shape or re.search(shape["pattern"], value) is not None


def _holds(value: Any, shape: Schema, components: Schema) -> bool:
    """Whether a list may hold what the value does: a list of objects gets its objects' own examples."""
    if not isinstance(value, list) or not value:
        return True
    items = _resolved(shape["items"], components)
    return isinstance(value[0], _PYTHON_TYPES.get(items.get("type"), ()))
