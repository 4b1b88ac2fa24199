"""The daemon's own certificate authority: one root that people trust once, and certificates under it that renew
themselves.

    <home>/tls/ca.key     0600, never leaves the host
    <home>/tls/ca.crt     what people put on the list of those they trust
    <home>/tls/<name>.pem a certificate, its key and the root, in one file so that they always belong together
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from openboxd.errors import HostUnfit
from openboxd.host.files import make_directory, write_atomic

ROOT_LIFE = timedelta(days=3650)
LEAF_LIFE = timedelta(days=397)
"""The longest that browsers accept."""

RENEW_BEFORE = timedelta(days=30)
SKEW = timedelta(hours=1)
"""Certificates begin a little early: not every client's clock is right."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Authority:
    """A root certificate and its key."""

    directory: Path
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def root(self) -> Path:
        """The root certificate, for those who are to trust it."""
        return self.directory / "ca.crt"

    def issue(self, name: str, hosts: Sequence[str], now: datetime | None = None) -> Path:
        """A file with a certificate for `hosts` (names, wildcards, addresses) and its key.

        The one that is there is kept while it covers the hosts, comes from this root and has a month left.
        """
        now = now or datetime.now(UTC)
        path = self.directory / f"{name}.pem"
        if not self._is_good(path, hosts, now):
            key = ec.generate_private_key(ec.SECP256R1())
            certificate = self._sign(key, hosts, now)
            write_atomic(path, _pem(certificate) + _key_pem(key) + _pem(self.certificate))
        return path

    def _is_good(self, path: Path, hosts: Sequence[str], now: datetime) -> bool:
        try:
            found = x509.load_pem_x509_certificate(path.read_bytes())
            found.verify_directly_issued_by(self.certificate)
        except Exception:  # absent, damaged, or another root's: a new one is made in any case
            return False
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        enough = found.not_valid_after_utc - now > RENEW_BEFORE and found.not_valid_before_utc <= now
        return enough and set(names) == set(_names(hosts))

    def _sign(self, key: ec.EllipticCurvePrivateKey, hosts: Sequence[str], now: datetime) -> x509.Certificate:
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        return (
            _builder(hosts[0], self.certificate.subject, key, now, min(now + LEAF_LIFE, self._end))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs_certificates=False), critical=True)
            .add_extension(usage, critical=False)
            .add_extension(x509.SubjectAlternativeName(_names(hosts)), critical=False)
            .add_extension(_identifier_of(self.certificate), critical=False)
            .sign(self.key, hashes.SHA256())
        )

    @property
    def _end(self) -> datetime:
        return self.certificate.not_valid_after_utc


def open_authority(directory: Path, now: datetime | None = None) -> Authority:
    """The authority kept in `directory`; made if there is none.

    Raises:
        HostUnfit: what is there is damaged. It is not replaced: people trust it.
    """
    make_directory(directory)
    key_file, certificate_file = directory / "ca.key", directory / "ca.crt"
    now = now or datetime.now(UTC)
    # The certificate is written last: without one, nobody can have come to trust the key.
    if not certificate_file.exists():
        key = ec.generate_private_key(ec.SECP256R1())
        write_atomic(key_file, _key_pem(key))
        write_atomic(certificate_file, _pem(_root(key, now)))
    try:
        certificate = x509.load_pem_x509_certificate(certificate_file.read_bytes())
        loaded = serialization.load_pem_private_key(key_file.read_bytes(), password=None)
    except (OSError, ValueError) as error:
        raise HostUnfit(f"boxd's root certificate in {directory} cannot be read ({error}); {_REMEDY}") from error
    if not isinstance(loaded, ec.EllipticCurvePrivateKey) or loaded.public_key() != certificate.public_key():
        raise HostUnfit(f"boxd's root certificate in {directory} and its key do not belong together; {_REMEDY}")
    if certificate.not_valid_after_utc - now < RENEW_BEFORE:
        log.warning("boxd's root certificate ends on %s; %s", certificate.not_valid_after_utc.date(), _REMEDY)
    return Authority(directory, certificate, loaded)


_REMEDY = "move ca.key and ca.crt away, start boxd again, and let clients trust the new ca.crt"


def _root(key: ec.EllipticCurvePrivateKey, now: datetime) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"boxd root {now:%Y-%m-%d}")])
    return (
        _builder(name.rfc4514_string().removeprefix("CN="), name, key, now, now + ROOT_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=1), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .sign(key, hashes.SHA256())
    )


def _builder(
    common_name: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, start: datetime, end: datetime
) -> x509.CertificateBuilder:
    public = key.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name[:64])]))
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - SKEW)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _identifier_of(issuer: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    found = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(found)


def _names(hosts: Sequence[str]) -> list[x509.GeneralName]:
    return [_name(host) for host in hosts]


def _name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
