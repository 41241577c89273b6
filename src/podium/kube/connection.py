"""Where an API server is, how to trust it, and how to be trusted by it: what a kubeconfig boils down to."""

from __future__ import annotations

import os
import ssl
import tempfile
from urllib.parse import urlsplit

import msgspec

from podium.kube.credentials import Certificate, Credentials


class Trust(msgspec.Struct, frozen=True):
    """How the server proves itself.  Without `ca_pem` the machine's own authorities decide."""

    ca_pem: str | None = None
    insecure: bool = False
    server_name: str = ""


class Connection(msgspec.Struct, frozen=True):
    """One cluster seen as one user.  `server` is its URL, whose path, if any, precedes every request's."""

    server: str
    credentials: Credentials
    trust: Trust = Trust()
    namespace: str = "default"

    @property
    def encrypted(self) -> bool:
        return urlsplit(self.server).scheme == "https"


def ssl_context(trust: Trust, certificate: Certificate | None = None) -> ssl.SSLContext:
    """The TLS settings of a client.  Raises ssl.SSLError or ValueError for a certificate that cannot be used."""
    if trust.insecure:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        context = ssl.create_default_context(cadata=trust.ca_pem)
        # Clusters live for years with authorities that lack extensions newer rules ask for (Python 3.13 does).
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    context.set_alpn_protocols(["http/1.1"])
    if certificate is not None:
        _load(context, certificate)
    return context


def _load(context: ssl.SSLContext, certificate: Certificate) -> None:
    """OpenSSL reads a key pair from files only; ours may be data, so a private file stands in for a moment."""
    handle, path = tempfile.mkstemp(prefix="podium-", suffix=".pem")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(f"{certificate.certificate_pem}\n{certificate.key_pem}\n")
        context.load_cert_chain(path)
    finally:
        os.unlink(path)
