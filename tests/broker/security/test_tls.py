"""TLS of a listener, from Kafka's settings."""

import contextlib
import ssl
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kaas.broker.security.protocols import Protocol
from kaas.broker.security.tls import client_auth, server_context
from kaas.broker.settings import BadSetting, Settings, parse
from tests.support.certificates import Authority, parts_of


class Shaken(NamedTuple):
    """What each side saw of the other."""

    of_client: Any
    of_broker: Any
    version: str


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def keystore(authority):
    return authority.issue("broker")


def made(*pairs, protocol=Protocol.SSL, **values):
    return server_context(Settings({**parse(pairs)._static, **values}), "TLS", protocol)


def shake(server, client):
    """A handshake in memory: the certificate that each side saw of the other, and the version that is spoken."""
    ends = [ssl.MemoryBIO() for _ in range(4)]
    serving = server.wrap_bio(ends[0], ends[1], server_side=True)
    asking = client.wrap_bio(ends[2], ends[3], server_hostname="localhost")
    for _ in range(6):
        for side, out, into in ((asking, ends[3], ends[0]), (serving, ends[1], ends[2])):
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()
            into.write(out.read())
    return Shaken(serving.getpeercert(), asking.getpeercert(), serving.version())


def client(authority, certificate=None):
    context = ssl.create_default_context(cafile=authority.path)
    if certificate is not None:
        context.load_cert_chain(certificate)
    return context


def test_a_key_and_its_certificate_may_lie_in_one_file(authority, keystore):
    shaken = shake(made(f"ssl.keystore.location={keystore}"), client(authority))
    assert shaken.of_broker["subject"] == ((("commonName", "broker"),),)
    assert shaken.of_client is None and shaken.version == "TLSv1.3"


def test_they_may_stand_in_the_settings_and_leave_no_file_behind(authority, keystore, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    key, certificate = parts_of(keystore)
    context = made(**{"ssl.keystore.key": key, "ssl.keystore.certificate.chain": certificate})
    assert shake(context, client(authority)).version and list(tmp_path.iterdir()) == []


def test_a_key_may_be_encrypted(authority):
    path = authority.issue("encrypted", password="secret")
    assert shake(made(f"ssl.keystore.location={path}", "ssl.key.password=secret"), client(authority)).version


@pytest.mark.parametrize("password", ["wrong", ""])
def test_a_wrong_password_of_the_key_is_refused_without_being_told(authority, password):
    path = authority.issue("encrypted", password="secret")
    with pytest.raises(BadSetting) as refused:
        made(f"ssl.keystore.location={path}", f"ssl.key.password={password}")
    assert "cannot be used" in str(refused.value) and "wrong" not in str(refused.value)


def test_a_listener_may_have_its_own(authority, keystore):
    path = authority.issue("other")
    context = made(f"ssl.keystore.location={keystore}", f"listener.name.tls.ssl.keystore.location={path}")
    assert shake(context, client(authority)).of_broker["subject"] == ((("commonName", "other"),),)


@pytest.mark.parametrize(("versions", "spoken"), [("TLSv1.2", "TLSv1.2"), ("TLSv1.3", "TLSv1.3")])
def test_only_versions_that_are_enabled_are_spoken(authority, keystore, versions, spoken):
    context = made(f"ssl.keystore.location={keystore}", f"ssl.enabled.protocols={versions}")
    assert shake(context, client(authority)).version == spoken


def test_cipher_suites_are_chosen(authority, keystore):
    pairs = (f"ssl.keystore.location={keystore}", "ssl.enabled.protocols=TLSv1.2")
    context = made(*pairs, "ssl.cipher.suites=ECDHE-ECDSA-AES256-GCM-SHA384")
    assert shake(context, client(authority)).version == "TLSv1.2"
    with pytest.raises(BadSetting, match=r"ssl\.cipher\.suites"):
        made(*pairs, "ssl.cipher.suites=NONSENSE")


@pytest.mark.parametrize("needed", ["requested", "required"])
def test_a_client_is_known_by_its_certificate(authority, keystore, needed):
    mine = authority.issue("alice")
    context = made(
        f"ssl.keystore.location={keystore}", f"ssl.client.auth={needed}", f"ssl.truststore.location={authority.path}"
    )
    shaken = shake(context, client(authority, mine))
    assert shaken.of_client["subject"] == ((("commonName", "alice"),),)


def test_one_without_a_certificate_is_refused_where_it_is_required(authority, keystore):
    trusted = {"ssl.truststore.certificates": authority.path.read_text()}
    required = made(f"ssl.keystore.location={keystore}", "ssl.client.auth=required", **trusted)
    with pytest.raises(ssl.SSLError):
        shake(required, client(authority))
    requested = made(f"ssl.keystore.location={keystore}", "ssl.client.auth=requested", **trusted)
    assert shake(requested, client(authority)).of_client is None


def test_one_that_another_authority_signed_is_refused(authority, keystore, tmp_path):
    theirs = Authority(tmp_path, "stranger").issue("alice")
    context = made(
        f"ssl.keystore.location={keystore}", "ssl.client.auth=required", f"ssl.truststore.location={authority.path}"
    )
    with pytest.raises(ssl.SSLError):
        shake(context, client(authority, theirs))


def test_where_clients_sign_in_by_sasl_only_the_listeners_own_setting_asks_for_certificates():
    settings = parse(["ssl.client.auth=required"])
    assert client_auth(settings, "TLS", Protocol.SSL) == "required"
    assert client_auth(settings, "TLS", Protocol.SASL_SSL) == "none"
    own = parse(["listener.name.tls.ssl.client.auth=requested"])
    assert client_auth(own, "TLS", Protocol.SASL_SSL) == "requested"


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([], "set ssl.keystore.location, or"),
        (["ssl.keystore.key=x"], "set ssl.keystore.location, or"),
        (["ssl.keystore.location=/nowhere"], "cannot be used: No such file"),
        (["ssl.keystore.location={keystore}", "ssl.keystore.key=x"], "exclude each other"),
        (["ssl.keystore.location={keystore}", "ssl.client.auth=required"], "needs either"),
        (
            ["ssl.keystore.location={keystore}", "ssl.client.auth=required", "ssl.truststore.location=/nowhere"],
            "ssl.truststore",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_name_of_the_setting(keystore, pairs, words):
    with pytest.raises(BadSetting, match=words):
        made(*(pair.format(keystore=keystore) for pair in pairs))


def test_a_certificate_that_does_not_belong_to_the_key_is_refused(authority, keystore):
    key, _ = parts_of(keystore)
    _, other = parts_of(authority.issue("other"))
    with pytest.raises(BadSetting, match="cannot be used"):
        made(**{"ssl.keystore.key": key, "ssl.keystore.certificate.chain": other})
    assert not list(Path(tempfile.gettempdir()).glob("kaas-keystore-*"))
