"""Who may look: a token once, then a cookie; and only from pages of this very address.

The dashboard listens on this machine, but so does a browser that is shown somebody else's page.  Three things
keep such pages out.  The `Host` of a request must be a name of this machine, so that a name that an attacker
points here (DNS rebinding) is refused.  `Origin` and `Sec-Fetch-Site`, where a browser sends them, must be ours.
And nothing is answered without the session's cookie, which scripts cannot read and other sites cannot send.
"""

from __future__ import annotations

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Mapping

import msgspec

SESSIONS = 100  # the oldest go first
_OWN_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})


class Refused(msgspec.Struct, frozen=True):
    """A request that is not answered, and the sentence that says why."""

    status: int
    why: str


class Access:
    """The token, and the sessions that were opened with it."""

    def __init__(self, token: str = "", hosts: frozenset[str] = frozenset()) -> None:
        """A new token where none is given.  `hosts` are further names under which pages may be asked for."""
        self.token = token or secrets.token_urlsafe(32)
        self._hosts = _OWN_HOSTS | {host.lower() for host in hosts}
        self._sessions: OrderedDict[str, None] = OrderedDict()

    def refuses(self, headers: Mapping[str, str]) -> Refused | None:
        """Whether a request comes from where it must not, whoever sends it."""
        host = headers.get("host", "")
        if _name(host) not in self._hosts:
            return Refused(
                421,
                f"the dashboard is not served as {host[:100] or 'nothing'!r}: open it as 127.0.0.1 or localhost",
            )
        origin = headers.get("origin", "")
        if origin and origin != "null" and origin.partition("://")[2].lower() != host.lower():
            return Refused(403, f"a page of {origin[:100]!r} may not ask the dashboard of {host!r}")
        site = headers.get("sec-fetch-site", "none")
        navigates = headers.get("sec-fetch-mode", "navigate") == "navigate"
        if origin == "null" or (site not in ("same-origin", "none") and not navigates):
            return Refused(403, "a page of another address may not ask the dashboard")
        return None

    def open(self, token: str) -> str:
        """The cookie of a new session; "" if the token is wrong."""
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return ""
        session = secrets.token_urlsafe(32)
        self._sessions[session] = None
        if len(self._sessions) > SESSIONS:
            self._sessions.popitem(last=False)
        return session

    def knows(self, session: str) -> bool:
        return session in self._sessions

    def shown(self, headers: Mapping[str, str]) -> bool:
        """Whether a request carries the token itself, as commands do."""
        scheme, _, token = headers.get("authorization", "").partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self.token.encode())

    def close(self, session: str) -> None:
        self._sessions.pop(session, None)


def _name(host: str) -> str:
    """A host without its port: `kubectl port-forward` may have another one."""
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()


def cookie(headers: Mapping[str, str], name: str) -> str:
    """The value of one cookie."""
    for part in headers.get("cookie", "").split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value
    return ""
