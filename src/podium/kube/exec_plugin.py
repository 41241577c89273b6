"""Exec plugins: a program named in the kubeconfig that prints a token or a certificate when asked.

The contract is client.authentication.k8s.io: the program finds its input, an ExecCredential, in the environment
variable KUBERNETES_EXEC_INFO and prints one with `status` filled.  We never lend it our terminal.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec

from podium.errors import TransportError
from podium.kube.credentials import Certificate, Identity, Issued, bearer
from podium.kube.times import parse_time

API_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
LONGEST_RUN = 60.0


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str = ""


class _ExecCredential(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""
    status: _Status | None = None


class ExecPlugin(msgspec.Struct, frozen=True):
    """One plugin, ready to run: it is an `Issuer` of identities."""

    command: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    api_version: str = API_VERSIONS[0]
    cluster: dict[str, Any] | None = None
    timeout: float = LONGEST_RUN

    def __call__(self) -> Issued:
        return self._read(self._run())

    def _run(self) -> bytes:
        spec: dict[str, Any] = {"interactive": False}
        if self.cluster is not None:
            spec["cluster"] = self.cluster
        info = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        environment = {
            **os.environ,
            **dict(self.environment),
            "KUBERNETES_EXEC_INFO": msgspec.json.encode(info).decode(),
        }
        try:
            done = subprocess.run(
                [self.command, *self.arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env=environment,
                timeout=self.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise self._failed(f"did not finish within {self.timeout:g} s") from None
        except OSError as error:
            raise self._failed(f"cannot be run: {error.strerror or error}") from error
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip() or "it said nothing on stderr"
            raise self._failed(f"ended with exit code {done.returncode}: {said[-500:]}")
        return done.stdout

    def _read(self, output: bytes) -> Issued:
        try:
            credential = msgspec.json.decode(output, type=_ExecCredential)
        except msgspec.DecodeError as error:
            raise self._failed(f"did not print an ExecCredential: {error}") from None
        if credential.kind != "ExecCredential" or credential.api_version != self.api_version:
            reported = f"{credential.kind or 'no kind'} of {credential.api_version or 'no apiVersion'}"
            raise self._failed(f"printed {reported} where ExecCredential of {self.api_version} was asked for")
        status = credential.status or _Status()
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._failed("printed only one of status.clientCertificateData and status.clientKeyData")
        if not status.token and not status.client_key_data:
            raise self._failed("printed neither status.token nor status.clientCertificateData")
        if not status.token.isprintable():
            raise self._failed("printed a status.token that cannot stand in a header")
        certificate = None
        if status.client_key_data:
            certificate = Certificate(status.client_certificate_data, status.client_key_data)
        expires = None
        if status.expiration_timestamp:
            expires = parse_time(status.expiration_timestamp)
            if not expires:
                raise self._failed("printed a status.expirationTimestamp that is no RFC 3339 time")
        return Issued(Identity(bearer(status.token) if status.token else "", certificate), expires)

    def _failed(self, what: str) -> TransportError:
        return TransportError(f"the credentials plugin {Path(self.command).name} {what}")
