"""SCRAM, the broker's side, against a client's side written from RFC 5802."""

import base64
import hmac

import pytest

from kaas.broker.security.failure import AuthenticationFailed
from kaas.broker.security.scram import HASHES, Keys, ScramExchange, fits, make_keys, nobodys_keys
from tests.support.signing_in import ScramClient

SALT = b"s" * 32
FEW = 4_096


def keys(mechanism="SCRAM-SHA-256", password="secret"):
    return make_keys(mechanism, password, salt=SALT, iterations=FEW)


def begun(mechanism="SCRAM-SHA-256", known=None):
    known = {"alice": keys(mechanism)} if known is None else known
    return ScramExchange(mechanism, known.get)


@pytest.mark.parametrize("mechanism", HASHES)
@pytest.mark.parametrize("header", ["n,,", "y,,"])
def test_who_knows_the_password_is_let_in_and_can_trust_the_broker(mechanism, header):
    exchange, client = begun(mechanism), ScramClient(mechanism, "alice", "secret", header)
    server_first = exchange.step(client.first())
    assert exchange.user is None and server_first.startswith(b"r=client-nonce")
    assert client.trusts(exchange.step(client.final(server_first)))
    assert exchange.user == "alice"


def test_a_name_with_commas_and_equal_signs_is_written_as_the_rfc_says():
    exchange = begun(known={"a,b=c": keys()})
    client = ScramClient("SCRAM-SHA-256", "a=2Cb=3Dc", "secret")
    exchange.step(client.final(exchange.step(client.first())))
    assert exchange.user == "a,b=c"


@pytest.mark.parametrize(("name", "password"), [("alice", "wrong"), ("nobody", "secret")])
def test_a_wrong_password_and_an_unknown_name_fail_alike_and_late(name, password):
    exchange, client = begun(), ScramClient("SCRAM-SHA-256", name, password)
    final = client.final(exchange.step(client.first()))
    with pytest.raises(AuthenticationFailed, match="wrong credentials") as failed:
        exchange.step(final)
    assert exchange.user is None and failed.value.user == name


def test_a_name_that_nobody_has_always_gets_the_same_salt():
    one, other = nobodys_keys("SCRAM-SHA-256", "x"), nobodys_keys("SCRAM-SHA-256", "x")
    assert one.salt == other.salt and one.stored_key != other.stored_key
    assert one.salt != nobodys_keys("SCRAM-SHA-256", "y").salt


@pytest.mark.parametrize(
    "token",
    [
        b"\xff",
        b"",
        b"n,,",
        b"n,,x",
        b"n,,n=alice",
        b"n,,n=,r=x",
        b"n,,n=alice,r=",
        b"n,,n=a=b,r=x",
        b"p=tls-unique,,n=alice,r=x",
        b"n,a=bob,n=alice,r=x",
    ],
)
def test_a_first_message_that_is_none_fails(token):
    with pytest.raises(AuthenticationFailed):
        begun().step(token)


def test_one_may_say_that_one_acts_for_oneself():
    client = ScramClient("SCRAM-SHA-256", "alice", "secret", "n,a=alice,")
    exchange = begun()
    exchange.step(client.final(exchange.step(client.first())))
    assert exchange.user == "alice"


@pytest.mark.parametrize(
    "changes", [{"binding": "y,,"}, {"nonce": "client-nonce"}, {"proof": "!"}, {"proof": "AAAA"}, {"proof": ""}]
)
def test_a_last_message_that_does_not_belong_to_the_first_fails(changes):
    exchange, client = begun(), ScramClient("SCRAM-SHA-256", "alice", "secret")
    final = client.final(exchange.step(client.first()), **changes)
    with pytest.raises(AuthenticationFailed):
        exchange.step(final)
    assert exchange.user is None


def test_a_last_message_without_a_proof_fails():
    exchange, client = begun(), ScramClient("SCRAM-SHA-256", "alice", "secret")
    exchange.step(client.first())
    with pytest.raises(AuthenticationFailed):
        exchange.step(b"c=biws,r=x")


@pytest.mark.parametrize("mechanism", HASHES)
def test_keys_fit_their_password_alone(mechanism):
    assert fits(mechanism, "secret", keys(mechanism)) and not fits(mechanism, "Secret", keys(mechanism))


def test_the_keys_are_those_of_the_rfc():
    """RFC 7677, section 3: user, pencil, and the salt and iterations of its example."""
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    made = make_keys("SCRAM-SHA-256", "pencil", salt=salt, iterations=FEW)
    assert isinstance(made, Keys)
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    exchanged = f"n=user,r=rOprNGfwEbeRWgbNEkqO,r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r={nonce}".encode()
    signature = hmac.digest(made.server_key, exchanged, "sha256")
    assert base64.b64encode(signature) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
