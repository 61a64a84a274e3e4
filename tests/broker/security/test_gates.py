"""Before a client is served: nothing but the authentication, and what comes of it."""

import asyncio
import ssl
import struct
from contextlib import asynccontextmanager

import pytest
import structlog

from kaas.broker.security import credentials
from kaas.storage.files import CLUSTER_FOLDER
from kaas.wire.apis import (
    API_VERSIONS,
    FIND_COORDINATOR,
    HEARTBEAT,
    LIST_GROUPS,
    METADATA,
    SASL_AUTHENTICATE,
    SASL_HANDSHAKE,
)
from tests.support.certificates import Authority
from tests.support.in_process import Closed, Peer, serving
from tests.support.signing_in import FEW_ITERATIONS, ScramClient, signed_in

SASL = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
    "connection_failed_authentication_delay_ms": 1,
    "sasl_enabled_mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
}
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


@asynccontextmanager
async def guarded(folder, **settings):
    """A broker that alice and bob may sign in to."""
    for name in ("alice", "bob"):
        credentials.add(folder / CLUSTER_FOLDER / credentials.FILE_NAME, name, "secret", FEW_ITERATIONS)
    async with serving(folder, **SASL, **settings) as peer:
        yield peer


def principals(peer):
    return {connection.principal for connection in peer.server.dispatcher._connections}


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("version", range(3))
async def test_who_signs_in_is_served(tmp_path, mechanism, version):
    async with guarded(tmp_path) as peer:
        assert (await peer.ask(API_VERSIONS, 2)).error_code == 0
        answer = await signed_in(peer, mechanism=mechanism, version=version)
        assert answer.error_code == 0 and principals(peer) == {"User:alice"}
        assert (await peer.ask(METADATA, 1, topics=[])).brokers


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("name", "password"), [("alice", "wrong"), ("nobody", "secret")])
async def test_wrong_credentials_end_the_connection_with_58_and_one_line_in_the_log(
    tmp_path, mechanism, name, password
):
    async with guarded(tmp_path) as peer:
        with structlog.testing.capture_logs() as logs:
            answer = await signed_in(peer, name, password, mechanism)
            assert answer.error_code == 58 and name not in answer.error_message
            with pytest.raises(Closed):
                await peer.ask(METADATA, 1, topics=[])
        (line,) = [one for one in logs if one["event"] == "authentication failed"]
        assert (line["user"], line["mechanism"]) == (name, mechanism) and "secret" not in str(logs)


async def test_the_answer_to_wrong_credentials_comes_after_a_delay(tmp_path):
    settings = {**SASL, "connection_failed_authentication_delay_ms": 150}
    async with serving(tmp_path, **settings) as peer:
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert (await signed_in(peer, password="wrong")).error_code == 58
        assert loop.time() - began >= 0.14


@pytest.mark.parametrize("api", [METADATA, LIST_GROUPS, HEARTBEAT, FIND_COORDINATOR])
async def test_nothing_else_is_served_before(tmp_path, api):
    async with guarded(tmp_path) as peer:
        peer.put(api, 0, **({"topics": []} if api is METADATA else {}))
        with pytest.raises(Closed):
            await peer.get()


async def test_nothing_else_is_served_in_the_middle_of_an_exchange(tmp_path):
    async with guarded(tmp_path) as peer:
        await peer.ask(SASL_HANDSHAKE, 1, mechanism="SCRAM-SHA-256")
        with pytest.raises(Closed):
            await peer.ask(METADATA, 1, topics=[])


async def test_requests_before_are_small(tmp_path):
    async with guarded(tmp_path, sasl_server_max_receive_size=1_000) as peer:
        assert (await signed_in(peer)).error_code == 0
        assert (await peer.ask(METADATA, 1, topics=[{"name": "t" * 200}] * 10)).brokers
        other = await Peer.connect(peer.server)
        await other.ask(SASL_HANDSHAKE, 1, mechanism="PLAIN")
        with pytest.raises(Closed):
            await other.ask(SASL_AUTHENTICATE, 1, auth_bytes=b"x" * 1_000)
        other.close()


async def bare(peer, token):
    """The answer to a token without a request around it."""
    peer._writer.write(struct.pack(">i", len(token)) + token)
    return await peer.payload()


async def test_tokens_may_come_bare(tmp_path):
    """SaslHandshake 0: what follows are tokens without a request around them (KIP-43)."""
    async with guarded(tmp_path) as peer:
        await peer.ask(SASL_HANDSHAKE, 0, mechanism="SCRAM-SHA-512")
        client = ScramClient("SCRAM-SHA-512", "alice", "secret")
        server_first = await bare(peer, client.first())
        assert client.trusts(await bare(peer, client.final(server_first)))
        assert (await peer.ask(METADATA, 1, topics=[])).brokers


async def test_a_wrong_bare_token_ends_the_connection(tmp_path):
    async with guarded(tmp_path) as peer:
        await peer.ask(SASL_HANDSHAKE, 0, mechanism="PLAIN")
        with pytest.raises(Closed):
            await bare(peer, b"\0alice\0wrong")


async def test_who_must_sign_in_again_is_served_until_then(tmp_path):
    async with guarded(tmp_path, connections_max_reauth_ms=60_000) as peer:
        answer = await signed_in(peer)
        assert answer.session_lifetime.total_seconds() == 60
        (connection,) = peer.server.dispatcher._connections
        beat = {"group_id": "g", "generation_id": 1, "member_id": "m"}
        for _ in range(3):
            assert (await peer.ask(HEARTBEAT, 3, **beat)).error_code == 25
        connection.session.expires_at_ms = 0
        assert (await signed_in(peer)).error_code == 0
        assert (await peer.ask(HEARTBEAT, 3, **beat)).error_code == 25
        connection.session.expires_at_ms = 0
        with pytest.raises(Closed):
            await peer.ask(HEARTBEAT, 3, **beat)


async def test_who_signs_in_again_stays_who_it_was(tmp_path):
    async with guarded(tmp_path, connections_max_reauth_ms=60_000) as peer:
        await signed_in(peer)
        assert (await signed_in(peer, "bob")).error_code == 58


async def test_a_client_that_leaves_in_the_middle_leaves_nothing(tmp_path):
    async with guarded(tmp_path) as peer:
        peer.put(SASL_HANDSHAKE, 1, mechanism="PLAIN")
        peer.put(SASL_AUTHENTICATE, 1, auth_bytes=b"\0alice\0wrong")
        await peer.get()
        peer.close()
        async with asyncio.timeout(10):
            while len(peer.server.dispatcher):
                await asyncio.sleep(0.01)


async def test_users_are_taken_without_a_restart(tmp_path):
    async with guarded(tmp_path) as peer:
        path = tmp_path / CLUSTER_FOLDER / credentials.FILE_NAME
        credentials.add(path, "carol", "secret", FEW_ITERATIONS)
        credentials.remove(path, "bob")
        await asyncio.to_thread(peer.server.security.refresh)
        assert (await signed_in(peer, "carol")).error_code == 0
        other = await Peer.connect(peer.server)
        assert (await signed_in(other, "bob")).error_code == 58
        other.close()


# Certificates


@asynccontextmanager
async def encrypted(folder, client_auth, **settings):
    authority = Authority(folder)
    named = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl_keystore_location": authority.issue("broker"),
        "ssl_truststore_location": authority.path,
        "ssl_client_auth": client_auth,
        **settings,
    }
    async with serving_tls(folder, authority, named) as made:
        yield made


@asynccontextmanager
async def serving_tls(folder, authority, named):
    async with serving(folder / "data", **named) as peer:
        peer.close()

        async def connect(certificate=None):
            context = ssl.create_default_context(cafile=authority.path)
            if certificate is not None:
                context.load_cert_chain(certificate)
            opened = asyncio.open_connection("127.0.0.1", peer.broker.port, ssl=context)
            return Peer(peer.server, *await opened)

        yield authority, connect


async def test_a_client_is_named_by_its_certificate(tmp_path):
    rule = "RULE:^CN=(.*?)$/$1/L,DEFAULT"
    async with encrypted(tmp_path, "required", ssl_principal_mapping_rules=rule) as (authority, connect):
        peer = await connect(authority.issue("Alice"))
        assert (await peer.ask(METADATA, 1, topics=[])).brokers
        assert principals(peer) == {"User:alice"}
        peer.close()


async def test_one_without_a_certificate_is_nobody_where_it_is_only_requested(tmp_path):
    async with encrypted(tmp_path, "requested") as (_, connect):
        peer = await connect()
        assert (await peer.ask(METADATA, 1, topics=[])).brokers
        assert principals(peer) == {"User:ANONYMOUS"}
        peer.close()


async def test_one_without_a_certificate_does_not_come_in_where_it_is_required(tmp_path):
    async with encrypted(tmp_path, "required") as (_, connect):
        with pytest.raises((Closed, ssl.SSLError, ConnectionError)):
            peer = await connect()
            await peer.ask(METADATA, 1, topics=[])


async def test_one_that_no_mapping_rule_fits_does_not_come_in(tmp_path):
    rule = "RULE:^CN=bob$/bob/"
    async with encrypted(tmp_path, "required", ssl_principal_mapping_rules=rule) as (authority, connect):
        peer = await connect(authority.issue("alice"))
        with pytest.raises(Closed):
            await peer.ask(METADATA, 1, topics=[])
        peer.close()
