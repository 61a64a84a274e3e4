import datetime

import pytest

from kaas.wire.apis import SASL_AUTHENTICATE, SASL_HANDSHAKE
from tests.broker.security.test_gates import guarded
from tests.support.in_process import Closed, serving
from tests.support.signing_in import signed_in


@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize(("reauth_ms", "told_s"), [(0, 0), (90_000, 90)])
async def test_it_works_in_every_version(tmp_path, version, reauth_ms, told_s):
    async with guarded(tmp_path, connections_max_reauth_ms=reauth_ms) as peer:
        answer = await signed_in(peer, version=version)
        assert (answer.error_code, answer.error_message) == (0, None)
        assert version < 1 or answer.session_lifetime == datetime.timedelta(seconds=told_s)


async def test_how_long_it_holds_is_told_with_the_last_token_alone(tmp_path):
    async with guarded(tmp_path, connections_max_reauth_ms=90_000) as peer:
        await peer.ask(SASL_HANDSHAKE, 1, mechanism="SCRAM-SHA-256")
        first = await peer.ask(SASL_AUTHENTICATE, 2, auth_bytes=b"n,,n=alice,r=nonce")
        assert first.session_lifetime == datetime.timedelta(0)


@pytest.mark.parametrize("version", range(3))
async def test_wrong_credentials_are_58(tmp_path, version):
    async with guarded(tmp_path) as peer:
        answer = await signed_in(peer, password="wrong", version=version)
        assert answer.error_code == 58 and "SCRAM-SHA-256" in answer.error_message and answer.auth_bytes == b""


async def test_a_token_that_belongs_to_no_exchange_is_34(tmp_path):
    async with guarded(tmp_path) as peer:
        assert (await peer.ask(SASL_AUTHENTICATE, 1, auth_bytes=b"x")).error_code == 34
        await signed_in(peer)
        assert (await peer.ask(SASL_AUTHENTICATE, 1, auth_bytes=b"x")).error_code == 34
    async with serving(tmp_path / "plain") as peer:
        assert (await peer.ask(SASL_AUTHENTICATE, 1, auth_bytes=b"x")).error_code == 34


async def test_a_token_that_is_nonsense_is_58(tmp_path):
    async with guarded(tmp_path) as peer:
        await peer.ask(SASL_HANDSHAKE, 1, mechanism="SCRAM-SHA-256")
        assert (await peer.ask(SASL_AUTHENTICATE, 1, auth_bytes=b"\xff")).error_code == 58
        with pytest.raises(Closed):
            await peer.ask(SASL_AUTHENTICATE, 1, auth_bytes=b"x")
