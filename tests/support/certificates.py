"""Certificates for tests: an authority of its own, and what it signs, as PEM files.

authority = Authority(folder)
authority.path, authority.issue("broker")   # the file of the authority; a file with key and certificate
"""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)


class Authority:
    """Signs certificates. `path`: its own certificate."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _subject(name)
        certificate = self._signed(self._name, self._key.public_key(), is_authority=True)
        self.path = folder / f"{name}.pem"
        self.path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, organization: str | None = None, password: str = "") -> Path:
        """A file with a key (PKCS #8) and a certificate for the loopback addresses, in this order."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._signed(_subject(name, organization), key.public_key(), is_authority=False)
        kept = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        form = serialization.PrivateFormat.PKCS8
        path = self._folder / f"{name}.pem"
        path.write_bytes(
            key.private_bytes(serialization.Encoding.PEM, form, kept)
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        return path

    def _signed(self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, is_authority: bool) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        hosts = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now + DAY)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
            .sign(self._key, hashes.SHA256())
        )


def _subject(name: str, organization: str | None = None) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)] if organization else []
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def parts_of(path: Path) -> tuple[str, str]:
    """Key and certificate of an issued file."""
    key, mark, certificate = path.read_text().partition("-----BEGIN CERTIFICATE-----")
    return key, mark + certificate
