"""A throw-away certificate authority for tests that need real TLS."""

from __future__ import annotations

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


class Authority:
    """Issues certificates, each with its key, as PEM texts."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("test authority")
        self._certificate = self._sign(self._name, self._key.public_key(), authority=True)
        self.pem = _pem(self._certificate)

    def issue(self, name: str, hosts: tuple[str, ...] = ()) -> tuple[str, str]:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(_name(name), key.public_key(), hosts=hosts)
        encoded = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return _pem(certificate), encoded.decode()

    def _sign(
        self,
        subject: x509.Name,
        public_key: ec.EllipticCurvePublicKey,
        authority: bool = False,
        hosts: tuple[str, ...] = (),
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        if hosts:
            names = [_general_name(host) for host in hosts]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
