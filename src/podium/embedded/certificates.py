"""The server's identity on disk: its own certificate authority, the serving certificate and the token.

They live in `<data-dir>/pki` and stay the same across restarts, so that a kubeconfig copied elsewhere goes on
working.  The serving certificate is renewed when it comes near its end; the authority only when it is at its own
end, since that changes what clients must trust.
"""

from __future__ import annotations

import os
import secrets
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from podium.errors import StorageError
from podium.kube.certificates import certificate_pem, key_pem, make_authority, make_serving, server_context

NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")

_RENEW_BEFORE = timedelta(days=30)


class Identity(msgspec.Struct, frozen=True):
    """What a server presents and what its clients need."""

    authority: str  # PEM of the certificate that clients trust
    certificate: Path
    key: Path
    token: str

    def server_context(self) -> ssl.SSLContext:
        return server_context(self.certificate, self.key)


def load_identity(directory: Path, now: datetime | None = None) -> Identity:
    """The identity kept in `directory`; what is missing or near its end is made anew."""
    now = now or datetime.now(UTC)
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority_files = directory / "ca.crt", directory / "ca.key"
    serving_files = directory / "server.crt", directory / "server.key"
    authority = _load(*authority_files)
    if authority is None or _near_end(authority[0], now):
        authority = make_authority(now)
        _save(*authority_files, *authority)
    serving = _load(*serving_files)
    if serving is None or _near_end(serving[0], now) or not _signed_by(serving[0], authority[0]):
        _save(*serving_files, *make_serving(*authority, now, NAMES))
    pem = certificate_pem(authority[0]).decode()
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
    write_private(key_path, key_pem(key))
    write_private(certificate_path, certificate_pem(certificate))


def _near_end(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_after_utc - now < _RENEW_BEFORE


def _signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except Exception:  # the library has several exception types for bad issuer names and bad signatures
        return False
    return True
