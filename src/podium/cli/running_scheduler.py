"""Asks the scheduler that runs, where one can be reached: it knows the cluster already.

`podium up` leaves the address of its dashboard beside its kubeconfig; for others `--dashboard` says it.  Nothing
that takes long to load is imported here: an answer comes in a fraction of the time that reading a cluster takes.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

from podium.errors import PodiumError, UsageError, why_unreadable

if TYPE_CHECKING:
    from http.client import HTTPResponse

ADDRESS = "dashboard"  # the file with the address, which has the token in it
_SECONDS = 40.0


def address_beside(kubeconfig: Path | None) -> str:
    """Where the dashboard of the cluster of a kubeconfig is, if `podium up` made that; "" if there is none."""
    if kubeconfig is None:
        return ""
    try:
        return (kubeconfig.parent / ADDRESS).read_text().strip() if kubeconfig.name == "kubeconfig" else ""
    except OSError:
        return ""


def ask(address: str, kind: str, form: Any, query: dict[str, str]) -> Any:
    """The answer, decoded as `form`.  PodiumError: there is none; UsageError: the question was wrong."""
    from http.client import HTTPConnection, HTTPException

    import msgspec

    where = urlsplit(address)
    token = parse_qs(where.query).get("token", [""])[0]
    if where.scheme != "http" or not where.hostname or not token:
        raise UsageError("a dashboard's address is http://HOST:PORT/login?token=…, as podium prints it")
    try:
        connection = HTTPConnection(where.hostname, where.port or 80, timeout=_SECONDS)
        connection.request("GET", f"/api/{kind}?{urlencode(query)}", headers={"Authorization": f"Bearer {token}"})
        response: HTTPResponse = connection.getresponse()
        said = response.read()
    except (OSError, HTTPException) as error:
        why = why_unreadable(error) if isinstance(error, OSError) else str(error)
        raise PodiumError(f"the dashboard at {where.netloc} does not answer: {why}") from None
    if response.status == 400:
        raise UsageError(said.decode().strip())
    if response.status != 200:
        raise PodiumError(f"the dashboard at {where.netloc}: {said.decode(errors='replace').strip()[:200]}")
    try:
        return msgspec.json.decode(said, type=form)
    except msgspec.DecodeError as error:
        raise PodiumError(f"the dashboard at {where.netloc} is of another version: {error}") from None
