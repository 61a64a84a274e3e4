"""Requests that fit any version of an API: one set of values, and each version takes what it has.

    ask(c, "Fetch", 12, max_wait=500, topics=[{"topic": "t", "partitions": [{"partition": 0, "fetch_offset": 7}]}])

Nested entities are dicts, times are milliseconds. A field that no version of the API has is an error; one that only this
version lacks is left out; one that nobody named is at rest ("", 0, null, empty, or the protocol's own default).

A version that the broker does not advertise skips the test: test_frames.py says which ones it must.
"""

import dataclasses
import functools
import importlib
import types
import typing
import uuid

import pytest

from tests.conformance.oracle.wire import Client, entity, ms, snake
from tests.support.waiting import until

REST = {str: "", bytes: b"", int: 0, bool: False, tuple: ()}


@functools.cache
def named_anywhere(api):
    """The request fields that some version of an API has."""
    names = set()
    for version in range(32):
        try:
            module = importlib.import_module(f"kio.schema.{snake(api)}.v{version}.request")
        except ModuleNotFoundError:
            continue
        for cls in vars(module).values():
            if dataclasses.is_dataclass(cls) and cls.__name__ != "RequestHeader":
                names |= {f.name for f in dataclasses.fields(cls)}
    return frozenset(names)


def inner(kind):
    """What a field holds: the entity class of an array or of a nullable, or the plain type."""
    arguments = [a for a in typing.get_args(kind) if a not in (Ellipsis, types.NoneType)]
    return inner(arguments[0]) if arguments else kind


def nullable(kind):
    return isinstance(kind, types.UnionType) and types.NoneType in typing.get_args(kind)


def at_rest(field):
    kind = field.type
    if nullable(kind):
        return None
    base = typing.get_origin(kind) or kind
    return next((value for known, value in REST.items() if issubclass(base, known)), ms(0))


def fit(field, value, api):
    if value is None:
        return None
    kind = inner(field.type)
    if dataclasses.is_dataclass(kind):
        return build(kind, value, api) if isinstance(value, dict) else tuple(build(kind, v, api) for v in value)
    if field.metadata.get("kafka_type", "").startswith("timedelta"):
        return ms(value)
    return tuple(value) if isinstance(value, list) else value


def build(cls, values, api):
    assert not (strange := values.keys() - named_anywhere(api)), f"{api} has no {strange}"
    out = {}
    for field in dataclasses.fields(cls):
        if field.name in values:
            out[field.name] = fit(field, values[field.name], api)
        elif field.default is dataclasses.MISSING:
            out[field.name] = at_rest(field)
    return cls(**out)


def shape(api, version, **values):
    """The keyword arguments of Client.send and Client.call for one version."""
    made = build(entity(api, version, "request"), values, api)
    return {f.name: getattr(made, f.name) for f in dataclasses.fields(made)}


@functools.cache
def advertised(host, port):
    """{API key: (lowest, highest version)} of a broker."""
    with Client(f"{host}:{port}") as c:
        return {k.api_key: (k.min_version, k.max_version) for k in c.call("ApiVersions", 0).api_keys}


def served(c, api, version):
    """Skips the test where the broker does not advertise that version."""
    lowest, highest = advertised(*c.socket.getpeername()[:2]).get(entity(api, version, "request").__api_key__, (0, -1))
    if not lowest <= version <= highest:
        pytest.skip(f"{api} {version} is not advertised")


def ask(c, api, version, within=None, **values):
    served(c, api, version)
    return c.call(api, version, within=within, **shape(api, version, **values))


def put(c, api, version, **values):
    """Send only; `c.recv()` takes the answer."""
    served(c, api, version)
    c.send(api, version, **shape(api, version, **values))


def create_topic(c, partitions=1, name=None, **configs):
    """A new topic of which every partition takes records, by name."""
    name = name or f"oracle-{uuid.uuid4().hex[:10]}"
    configs = [{"name": k, "value": v} for k, v in configs.items()]
    rows = [{"name": name, "num_partitions": partitions, "replication_factor": 1, "configs": configs}]
    made = ask(c, "CreateTopics", 7, timeout=10_000, topics=rows)
    assert made.topics[0].error_code == 0, made
    until(lambda: led(c, name, partitions))
    return name


def described(c, name, version=12):
    """One topic as Metadata shows it; never created by asking."""
    return ask(c, "Metadata", version, topics=[{"name": name}], allow_auto_topic_creation=False).topics[0]


def led(c, name, partitions):
    """Whether the broker answers for every partition: it knows the topic a moment before it leads it."""
    seen = described(c, name)
    if seen.error_code or len(seen.partitions) != partitions:
        return False
    rows = [{"partition_index": p, "timestamp": -2} for p in range(partitions)]
    ends = ask(c, "ListOffsets", 7, replica_id=-1, topics=[{"name": name, "partitions": rows}]).topics[0].partitions
    return all(p.error_code == 0 for p in ends)


def topic_id(c, name):
    return described(c, name).topic_id


def delete_topic(c, name):
    """Deletes a topic and waits until it is gone."""
    gone = ask(c, "DeleteTopics", 5, topic_names=[name], timeout=10_000)
    assert gone.responses[0].error_code == 0, gone
    until(lambda: described(c, name).error_code == 3)
