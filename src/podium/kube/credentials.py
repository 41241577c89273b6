"""Who we are to an API server: sources of tokens and client certificates, and how each is renewed.

A request asks for the identity at hand (`current`), which never waits.  Where there is none yet, or the server
has just answered 401, the transport awaits `renew`; the same identity coming back means that asking again would
be pointless.
"""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from podium.errors import UsageError, why_unreadable

Clock = Callable[[], float]

# Projected service account tokens are replaced on disk long before they expire; a look each minute is enough.
TOKEN_FILE_SECONDS = 60.0


class Certificate(msgspec.Struct, frozen=True):
    """A client certificate (chain) and its private key, as PEM."""

    certificate_pem: str
    key_pem: str


class Identity(msgspec.Struct, frozen=True):
    """What a request shows: the Authorization header's value (may be empty) and the connection's certificate."""

    authorization: str = ""
    certificate: Certificate | None = None


class Credentials(Protocol):
    """A source of identities."""

    def current(self) -> Identity | None:
        """The identity to use now; None when `renew` must be awaited first."""
        ...

    async def renew(self, refused: Identity | None) -> Identity:
        """A newer identity than `refused`, which the server has just answered with 401, or else the same."""
        ...


def bearer(token: str) -> str:
    return f"Bearer {token}"


def basic(username: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


class Static:
    """An identity that never changes: a token in the file, a certificate, a password, or nobody."""

    def __init__(self, identity: Identity = Identity()) -> None:  # noqa: B008  frozen, so sharing it is safe
        self._identity = identity

    def current(self) -> Identity | None:
        return self._identity

    async def renew(self, refused: Identity | None) -> Identity:
        return self._identity


class TokenFile:
    """A token that somebody else keeps fresh in a file."""

    def __init__(self, path: Path, certificate: Certificate | None = None, clock: Clock = time.monotonic) -> None:
        self._path = path
        self._certificate = certificate
        self._clock = clock
        self._identity: Identity | None = None
        self._read_at = 0.0

    def current(self) -> Identity | None:
        if self._identity is None or self._clock() - self._read_at >= TOKEN_FILE_SECONDS:
            self._read()
        return self._identity

    async def renew(self, refused: Identity | None) -> Identity:
        return self._read()

    def _read(self) -> Identity:
        """Synchronous on purpose: a file of one line, once a minute, costs less than a thread."""
        self._read_at = self._clock()
        try:
            token = self._path.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            if self._identity is None:
                raise UsageError(f"the token file {self._path} cannot be read: {why_unreadable(error)}") from error
            return self._identity  # it is being replaced, or gone: the old token may still be good
        if not token.isprintable() or not token:
            if self._identity is None:
                raise UsageError(f"the token file {self._path} does not hold one token")
            return self._identity
        fresh = Identity(bearer(token), self._certificate)
        if fresh != self._identity:
            self._identity = fresh
        return self._identity


class Issued(msgspec.Struct, frozen=True):
    """What an issuer gave out, and the Unix time until which it is good (None: until it is refused)."""

    identity: Identity
    expires: float | None = None


class Issuer(Protocol):
    """Makes identities, slowly: an exec plugin.  Raises TransportError when it fails."""

    def __call__(self) -> Issued: ...


class OnDemand:
    """Identities from an issuer, run in a thread and kept until they expire or are refused."""

    def __init__(self, issuer: Issuer, clock: Clock = time.time) -> None:
        self._issuer = issuer
        self._clock = clock
        self._issued: Issued | None = None
        self._lock = asyncio.Lock()

    def current(self) -> Identity | None:
        issued = self._issued
        if issued is None or (issued.expires is not None and self._clock() >= issued.expires):
            return None
        return issued.identity

    async def renew(self, refused: Identity | None) -> Identity:
        async with self._lock:
            # Many requests may be refused at once; the first of them renews for all.
            current = self.current()
            if current is not None and current is not refused:
                return current
            issued = await asyncio.to_thread(self._issuer)
            if self._issued is not None and issued.identity == self._issued.identity:
                issued = Issued(self._issued.identity, issued.expires)
            self._issued = issued
            return issued.identity
