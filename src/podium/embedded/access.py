"""Who may talk to the embedded server: pure checks over the headers of a request.

The server listens on loopback, which keeps other machines out but not a web page in a browser on this one: any
page may send requests to 127.0.0.1, and a DNS name that its owner points there makes them look same-origin.
Hence three checks: the Host header must be a configured name of this server, an Origin header (browsers always
send it where it matters) must be the server's own, and every request carries the token from the kubeconfig.
"""

from __future__ import annotations

import hmac

import msgspec

from podium.errors import ApiError

LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "[::1]"})

# Probes may come without a token, as on a real API server.
_PUBLIC = frozenset({"/livez", "/readyz", "/healthz"})


class Gate(msgspec.Struct, frozen=True):
    """What a request must present."""

    token: str
    hosts: frozenset[str] = LOOPBACK_HOSTS
    origins: frozenset[str] = frozenset()


def gate_for(token: str, port: int) -> Gate:
    """The gate of a server that listens on `port` of loopback."""
    return Gate(token, LOOPBACK_HOSTS, frozenset(f"https://{host}:{port}" for host in LOOPBACK_HOSTS))


def refusal(gate: Gate, *, path: str, host: str, origin: str, authorization: str) -> ApiError | None:
    """Why a request may not come in; None if it may."""
    if not host_allowed(gate, host):
        known = ", ".join(sorted(gate.hosts))
        return ApiError(403, "Forbidden", f'host "{host}" is not served here: this server answers to {known}')
    if origin and origin not in gate.origins:
        return ApiError(403, "Forbidden", f'requests from pages of origin "{origin}" are not allowed')
    if not token_matches(gate, authorization) and not is_public(path):
        return ApiError(401, "Unauthorized", "Unauthorized")
    return None


def host_allowed(gate: Gate, host: str) -> bool:
    """Only the name counts: behind a tunnel the port differs, and no page can forge the name."""
    name, colon, port = host.rpartition(":")
    if colon and port.isdigit():
        host = name
    return host.lower() in gate.hosts


def token_matches(gate: Gate, authorization: str) -> bool:
    """Compares in constant time, so that the time of a refusal reveals nothing about the token."""
    scheme, _, token = authorization.partition(" ")
    given = token.strip().encode("utf-8", "replace")
    return hmac.compare_digest(given, gate.token.encode()) and scheme.lower() == "bearer"


def is_public(path: str) -> bool:
    return path in _PUBLIC or any(path.startswith(each + "/") for each in _PUBLIC)
