"""kaasadmin.forwarded."""

from __future__ import annotations

import pytest

from kaasadmin.forwarded import Forwarded

PROXY = ("127.0.0.1", 5000)
STRANGER = ("203.0.113.7", 5000)
HEADERS = [
    (b"host", b"backend:8000"),
    (b"x-forwarded-for", b"198.51.100.4"),
    (b"x-forwarded-proto", b"https"),
    (b"x-forwarded-host", b"kafka.example, inner.example"),
]


async def seen(*, path="/groups/", client=PROXY, headers=HEADERS, base_path="", kind="http", trusted=("127.0.0.0/8",)):
    """What stands behind it is told."""
    told = []

    async def application(scope, receive, send):
        told.append(scope)

    scope = {"type": kind, "path": path, "raw_path": path.encode(), "headers": headers, "client": client}
    await Forwarded(application, trusted=trusted, base_path=base_path)({**scope, "scheme": "http"}, None, None)
    return told[0]


async def test_a_trusted_proxy_is_believed():
    scope = await seen()
    assert (scope["client"][0], scope["scheme"]) == ("198.51.100.4", "https")
    assert [value for name, value in scope["headers"] if name == b"host"] == [b"kafka.example"]


async def test_sockets_are_secure_behind_tls_too():
    assert (await seen(kind="websocket"))["scheme"] == "wss"


@pytest.mark.parametrize("client", [STRANGER, None, ("testclient", 5000)])
async def test_nobody_else_is(client):
    scope = await seen(client=client)
    assert (scope["client"], scope["scheme"]) == (client, "http")
    assert (b"host", b"backend:8000") in scope["headers"]


async def test_without_a_forwarded_host_the_host_stays():
    scope = await seen(headers=HEADERS[:1])
    assert scope["headers"] == HEADERS[:1] and scope["client"] == PROXY


@pytest.mark.parametrize(
    ("path", "whole"),
    [
        ("/groups/", "/kafka/groups/"),
        ("/kafka/groups/", "/kafka/groups/"),
        ("/kafka", "/kafka"),
        ("/kafkaesque/", "/kafka/kafkaesque/"),
        ("/", "/kafka/"),
    ],
)
async def test_the_base_path_is_there_whether_a_proxy_strips_it_or_not(path, whole):
    scope = await seen(path=path, base_path="/kafka")
    assert scope["path"] == whole and scope["raw_path"] == whole.encode()


async def test_the_lifespan_passes():
    told = []

    async def application(scope, receive, send):
        told.append(scope)

    await Forwarded(application, trusted=(), base_path="/kafka")({"type": "lifespan"}, None, None)
    assert told == [{"type": "lifespan"}]
