"""The server's identity on disk: its own certificate authority, the serving certificate and the token.

They live in `<data-dir>/pki` and stay the same across restarts, so that a kubeconfig copied elsewhere goes on
working.  The serving certificate is renewed when it comes near its end; the authority only when it is at its own
end, since that changes what clients must trust.
"""

from __future__ import annotations

import ipaddress
import os
import secrets
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from podium.errors import StorageError

NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
ADDRESSES = ("127.0.0.1", "::1")

_AUTHORITY_LIFE = timedelta(days=3650)
_SERVING_LIFE = timedelta(days=365)
_RENEW_BEFORE = timedelta(days=30)
_CLOCK_SKEW = timedelta(hours=1)


class Identity(msgspec.Struct, frozen=True):
    """What a server presents and what its clients need."""

    authority: str  # PEM of the certificate that clients trust
    certificate: Path
    key: Path
    token: str

    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(self.certificate, self.key)
        context.set_alpn_protocols(["http/1.1"])
        return context


def load_identity(directory: Path, now: datetime | None = None) -> Identity:
    """The identity kept in `directory`; what is missing or near its end is made anew."""
    now = now or datetime.now(UTC)
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority_files = directory / "ca.crt", directory / "ca.key"
    serving_files = directory / "server.crt", directory / "server.key"
    authority = _load(*authority_files)
    if authority is None or _near_end(authority[0], now):
        authority = _make_authority(now)
        _save(*authority_files, *authority)
    serving = _load(*serving_files)
    if serving is None or _near_end(serving[0], now) or not _signed_by(serving[0], authority[0]):
        _save(*serving_files, *_make_serving(*authority, now))
    pem = authority[0].public_bytes(serialization.Encoding.PEM).decode()
    return Identity(pem, *serving_files, _load_token(directory / "token"))


def write_private(path: Path, data: bytes) -> None:
    """Puts a file in place as a whole, readable by its owner only from its first byte on."""
    temporary = path.with_name(path.name + ".new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    temporary.replace(path)


def _load_token(path: Path) -> str:
    token = path.read_text().strip() if path.exists() else ""
    if not token:
        token = secrets.token_urlsafe(32)
        write_private(path, token.encode())
    return token


def _load(certificate: Path, key: Path) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey] | None:
    if not certificate.exists() or not key.exists():
        return None
    try:
        loaded = serialization.load_pem_private_key(key.read_bytes(), password=None)
        parsed = x509.load_pem_x509_certificate(certificate.read_bytes())
    except ValueError as error:
        raise StorageError(
            f"{certificate} or {key.name} is damaged ({error}); remove both to have new ones made"
        ) from error
    if not isinstance(loaded, ec.EllipticCurvePrivateKey):
        raise StorageError(f"{key} is not a key that podium made; remove it and {certificate.name}")
    if parsed.public_key() != loaded.public_key():
        return None  # a crash between the two files: make both again
    return parsed, loaded


def _save(
    certificate_path: Path, key_path: Path, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey
) -> None:
    encoded = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write_private(key_path, encoded)
    write_private(certificate_path, certificate.public_bytes(serialization.Encoding.PEM))


def _near_end(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_after_utc - now < _RENEW_BEFORE


def _signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except Exception:  # the library tells bad issuer names and bad signatures by several exception types
        return False
    return True


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(subject: x509.Name, issuer: x509.Name, now: datetime, life: timedelta) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + life)
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


def _make_authority(now: datetime) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    # The name differs with every authority: clients that trust two of them must not mix them up.
    name = _name(f"podium-ca-{secrets.token_hex(4)}")
    certificate = (
        _builder(name, name, now, _AUTHORITY_LIFE)
        .public_key(key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    return certificate, key


def _make_serving(
    authority: x509.Certificate, authority_key: ec.EllipticCurvePrivateKey, now: datetime
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in NAMES]
    names += [x509.IPAddress(ipaddress.ip_address(address)) for address in ADDRESSES]
    life = min(_SERVING_LIFE, authority.not_valid_after_utc - now)
    certificate = (
        _builder(_name("podium"), authority.subject, now, life)
        .public_key(key.public_key())
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()), critical=False
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return certificate, key
