"""A blocking Kafka client for tests: any API, any version, one frame at a time. It shares no code with the broker.

    with Client("127.0.0.1:9092") as c:
        answer = c.call("Heartbeat", 3, group_id="g", generation_id=1, member_id="m", group_instance_id=None)

Names and fields are kio's (`kio.schema.heartbeat.v3.request`); `fields("Heartbeat", 3)` prints them, `row` makes nested
entities.
A parked request (JoinGroup, SyncGroup, long Fetch) is `send` now and `recv` later; `silent` asserts that no answer has come.
"""

import dataclasses
import datetime
import functools
import importlib
import io
import re
import socket
import struct
import time

from kio.serial import entity_reader, entity_writer


class Closed(Exception):
    """The broker closed the connection."""


class Silent(Exception):
    """No answer within the time given."""


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@functools.cache
def schema(api, version, kind):
    return importlib.import_module(f"kio.schema.{snake(api)}.v{version}.{kind}")


@functools.cache
def entity(api, version, kind):
    return getattr(schema(api, version, kind), f"{api}{kind.capitalize()}")


@functools.cache
def writer(cls):
    return entity_writer(cls)


@functools.cache
def reader(cls):
    return entity_reader(cls)


def row(api, version, entity_name, /, **values):
    """A nested request entity, e.g. row("JoinGroup", 5, "JoinGroupRequestProtocol", name="range", metadata=b"")."""
    return getattr(schema(api, version, "request"), entity_name)(**values)


def fields(api, version, kind="request"):
    """The entities of one message and their fields."""
    return {
        n: [f.name for f in dataclasses.fields(c)]
        for n, c in vars(schema(api, version, kind)).items()
        if dataclasses.is_dataclass(c) and not n.endswith("Header")
    }


def ms(value):
    return datetime.timedelta(milliseconds=value)


def encode(api, version, correlation, client_id="oracle", **values):
    cls = entity(api, version, "request")
    body = io.BytesIO()
    writer(cls)(body, cls(**values))
    client = client_id.encode()
    head = struct.pack(">hhih", int(cls.__api_key__), version, correlation, len(client)) + client
    if cls.__flexible__:
        head += b"\0"
    return head + body.getvalue()


class Client:
    """One TCP connection. Requests are answered in order, as Kafka does."""

    def __init__(self, address, timeout=10.0):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout)
        self.timeout = timeout
        self.sent = []
        self.correlation = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, api, version, client_id="oracle", **values):
        self.correlation += 1
        frame = encode(api, version, self.correlation, client_id, **values)
        self.socket.sendall(struct.pack(">i", len(frame)) + frame)
        self.sent.append((api, version, self.correlation))

    def send_raw(self, payload):
        """Any bytes after a correct length prefix; read the answer with recv_raw."""
        self.socket.sendall(struct.pack(">i", len(payload)) + payload)

    def _read(self, count, deadline):
        data = b""
        while len(data) < count:
            left = deadline - time.monotonic()
            if left <= 0:
                raise Silent(f"nothing in time, {len(data)} of {count} bytes")
            self.socket.settimeout(left)
            try:
                part = self.socket.recv(count - len(data))
            except TimeoutError:
                continue
            except ConnectionError as problem:
                raise Closed(str(problem)) from problem
            if not part:
                raise Closed("end of stream")
            data += part
        return data

    def recv_raw(self, within=None):
        """The bytes of the next answer, correlation id included."""
        deadline = time.monotonic() + (self.timeout if within is None else within)
        size = struct.unpack(">i", self._read(4, deadline))[0]
        return self._read(size, deadline)

    def recv(self, within=None):
        payload = self.recv_raw(within)
        api, version, correlation = self.sent.pop(0)
        assert struct.unpack_from(">i", payload)[0] == correlation, "correlation id"
        cls = entity(api, version, "response")
        at = 5 if cls.__flexible__ and api != "ApiVersions" else 4
        value, used = reader(cls)(payload, at)
        assert used == len(payload) - at or used == len(payload), f"{len(payload)} bytes, {used} read"
        return value

    def silent(self, seconds=0.3):
        """Assert that no answer comes for that long. A partial answer counts as one."""
        self.socket.settimeout(seconds)
        try:
            got = self.socket.recv(1, socket.MSG_PEEK)
        except TimeoutError:
            return
        raise AssertionError("closed" if not got else "an answer came")

    def call(self, api, version, client_id="oracle", within=None, **values):
        self.send(api, version, client_id, **values)
        return self.recv(within)
