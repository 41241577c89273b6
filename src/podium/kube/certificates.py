"""Certificates of servers on this machine, signed by an authority of their own."""

from __future__ import annotations

import ipaddress
import secrets
import ssl
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

NAMES = ("localhost",)
ADDRESSES = ("127.0.0.1", "::1")

_AUTHORITY_LIFE = timedelta(days=3650)
_SERVING_LIFE = timedelta(days=365)
_CLOCK_SKEW = timedelta(hours=1)

Signed = tuple[x509.Certificate, ec.EllipticCurvePrivateKey]


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """How such a server speaks TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["http/1.1"])
    return context


def certificate_pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


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


def make_authority(now: datetime) -> Signed:
    """An authority of one's own, trusted by whoever is given it."""
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


def make_serving(
    authority: x509.Certificate,
    authority_key: ec.EllipticCurvePrivateKey,
    now: datetime,
    names: Iterable[str] = NAMES,
) -> Signed:
    """The certificate of a server on this machine, which is reached by its address or by one of `names`."""
    key = ec.generate_private_key(ec.SECP256R1())
    known: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
    known += [x509.IPAddress(ipaddress.ip_address(address)) for address in ADDRESSES]
    life = min(_SERVING_LIFE, authority.not_valid_after_utc - now)
    certificate = (
        _builder(_name("podium"), authority.subject, now, life)
        .public_key(key.public_key())
        .add_extension(x509.SubjectAlternativeName(known), critical=False)
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
