"""TLS of a listener, from Kafka's settings.

Job: the context that connections are wrapped with.
Rules: key and certificates are PEM, in files or in the settings themselves. TLS 1.2 is the oldest that is spoken. Renegotiation
and compression are off. What cannot be used is refused at the start, with the setting's name and without a secret.
Must not know: connections.
Source: KIP-651 (PEM in Kafka's settings), KIP-684 (certificates of clients on SASL_SSL).
"""

from __future__ import annotations

import os
import ssl
import tempfile
from pathlib import Path

from kaas.broker.security.protocols import Protocol
from kaas.broker.settings import BadSetting, Settings
from kaas.broker.settings_table import LISTENER_PREFIX, list_items

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


def server_context(settings: Settings, listener: str, protocol: Protocol) -> ssl.SSLContext:
    """What a listener speaks TLS with. Raises BadSetting."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    versions = [_VERSIONS[name] for name in list_items(settings.on(listener, "ssl.enabled.protocols"))]
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_COMPRESSION
    if suites := list_items(settings.on(listener, "ssl.cipher.suites")):
        try:
            context.set_ciphers(":".join(suites))
        except ssl.SSLError:
            raise BadSetting(f"ssl.cipher.suites: OpenSSL knows none of {', '.join(suites)}") from None
    load_key(context, settings, listener)
    context.verify_mode = _CLIENT_AUTH[client_auth(settings, listener, protocol)]
    if context.verify_mode != ssl.CERT_NONE:
        _load_trusted(context, settings, listener)
    return context


def client_auth(settings: Settings, listener: str, protocol: Protocol) -> str:
    """Whether clients show a certificate. Where they sign in by SASL, only the listener's own setting counts."""
    own = f"{LISTENER_PREFIX}{listener.lower()}.ssl.client.auth"
    if protocol.has_sasl and own not in settings.set_names():
        return "none"
    return str(settings.on(listener, "ssl.client.auth"))


def load_key(context: ssl.SSLContext, settings: Settings, listener: str) -> None:
    """Take key and certificate, or take them anew; connections that come later use them. Raises BadSetting."""
    password = settings.on(listener, "ssl.key.password")
    try:
        place = _key_file(settings, listener)
        try:
            context.load_cert_chain(place, password=lambda: password)
        finally:
            if place.name.startswith(_TEMPORARY):
                place.unlink()
    except (OSError, ValueError) as problem:  # SSLError is an OSError
        reason = getattr(problem, "reason", None) or getattr(problem, "strerror", None) or "they do not fit together"
        raise BadSetting(f"ssl.keystore.* of {listener}: key and certificate cannot be used: {reason}") from None


_TEMPORARY = "kaas-keystore-"


def _key_file(settings: Settings, listener: str) -> Path:
    """The file with key and certificate; one that lives for a moment when they stand in the settings. Raises BadSetting."""
    location = settings.on(listener, "ssl.keystore.location")
    key, chain = settings.on(listener, "ssl.keystore.key"), settings.on(listener, "ssl.keystore.certificate.chain")
    if location and (key or chain):
        raise BadSetting("ssl.keystore.location and ssl.keystore.key exclude each other")
    if location:
        return Path(location)
    if not key or not chain:
        raise BadSetting(
            f"listener {listener} speaks TLS: set ssl.keystore.location, or ssl.keystore.key and "
            "ssl.keystore.certificate.chain"
        )
    handle, name = tempfile.mkstemp(prefix=_TEMPORARY)  # readable for its owner alone
    with os.fdopen(handle, "w") as file:
        file.write(f"{key}\n{chain}\n")
    return Path(name)


def _load_trusted(context: ssl.SSLContext, settings: Settings, listener: str) -> None:
    """The certificates that sign those of clients. Raises BadSetting."""
    location = settings.on(listener, "ssl.truststore.location")
    texts = settings.on(listener, "ssl.truststore.certificates")
    if bool(location) == bool(texts):
        raise BadSetting(
            "ssl.client.auth needs either ssl.truststore.location or ssl.truststore.certificates, to know clients by"
        )
    try:
        context.load_verify_locations(cafile=location or None, cadata=texts or None)
    except (OSError, ValueError) as problem:
        raise BadSetting(f"ssl.truststore.* of {listener}: certificates cannot be used: {problem}") from None
