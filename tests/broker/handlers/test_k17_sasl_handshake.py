import pytest

from kaas.wire.apis import METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE
from tests.broker.security.test_gates import guarded
from tests.support.in_process import Closed, serving
from tests.support.signing_in import signed_in


@pytest.mark.parametrize("version", range(2))
async def test_it_works_in_every_version(tmp_path, version):
    async with guarded(tmp_path) as peer:
        answer = await peer.ask(SASL_HANDSHAKE, version, mechanism="SCRAM-SHA-512")
        assert (answer.error_code, answer.mechanisms) == (0, ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"))


@pytest.mark.parametrize("version", range(2))
async def test_a_mechanism_that_is_not_offered_is_33_with_those_that_are(tmp_path, version):
    async with guarded(tmp_path) as peer:
        answer = await peer.ask(SASL_HANDSHAKE, version, mechanism="GSSAPI")
        assert (answer.error_code, answer.mechanisms) == (33, ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"))
        with pytest.raises(Closed):
            await peer.ask(SASL_HANDSHAKE, version, mechanism="PLAIN")


async def test_a_listener_without_sasl_answers_34_and_serves_on(tmp_path):
    async with serving(tmp_path) as peer:
        assert (await peer.ask(SASL_HANDSHAKE, 1, mechanism="PLAIN")).error_code == 34
        assert (await peer.ask(METADATA, 1, topics=[])).brokers


async def test_in_the_middle_of_an_exchange_it_is_34(tmp_path):
    async with guarded(tmp_path) as peer:
        await peer.ask(SASL_HANDSHAKE, 1, mechanism="SCRAM-SHA-256")
        assert (await peer.ask(SASL_HANDSHAKE, 1, mechanism="PLAIN")).error_code == 34
        answer = await peer.ask(SASL_AUTHENTICATE, 1, auth_bytes=b"n,,n=alice,r=nonce")
        assert answer.error_code == 0 and answer.auth_bytes.startswith(b"r=nonce")


async def test_who_has_signed_in_may_begin_anew(tmp_path):
    async with guarded(tmp_path) as peer:
        for _ in range(3):
            assert (await signed_in(peer)).error_code == 0
