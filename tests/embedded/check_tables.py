"""Compares the recorded table cases with a real API server: `python -m tests.embedded.check_tables`.

Starts a control plane without controllers, which would change what the cases say.  Creates every object in the
namespace `default` (with its status, and deleted where the case says so), asks for it as a Table, and prints
each cell that differs.  Exit code 1 if there is any.
"""

from __future__ import annotations

import json
import ssl
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from tests.controlplane.server import ControlPlane
from tests.embedded.table_cases import Case, Document, table_cases

_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Server:
    """Just enough of a client."""

    def __init__(self, plane: ControlPlane) -> None:
        self._url = plane.url
        self._token = plane.token
        self._context = ssl.create_default_context(cafile=str(plane.ca))

    def call(self, method: str, path: str, body: Document | None = None, accept: str = "application/json") -> Any:
        request = urllib.request.Request(
            self._url + path,
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={
                "Authorization": f"Bearer {self._token}",
                "Content-Type": "application/json",
                "Accept": accept,
            },
        )
        try:
            with urllib.request.urlopen(request, context=self._context) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.read().decode()}") from None


def differences(server: Server, case: Case) -> list[str]:
    """What the server prints differently."""
    resource = case.kind.resource
    collection = resource.path("default")
    path = resource.path("default", case.name)
    document = {"apiVersion": resource.api_version, "kind": resource.kind, **case.object}
    created = server.call("POST", collection, document)
    if "status" in document and case.kind.status:
        created["status"] = document["status"]
        server.call("PUT", f"{path}/status", created)
    if case.deleting:
        server.call("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1"})
    table = server.call("GET", path, accept=_TABLE)
    names = [column["name"] for column in table["columnDefinitions"]]
    printed = table["rows"][0]["cells"]
    if len(printed) != len(case.cells):
        return [f"{resource.plural}/{case.name}: {dict(zip(names, printed, strict=True))}"]
    return [
        f"{resource.plural}/{case.name} {column}: {theirs!r}, not {ours!r}"
        for column, theirs, ours in zip(names, printed, case.cells, strict=True)
        if theirs != ours and column not in ("Age", "Created At")
    ]


def main() -> int:
    found: list[str] = []
    with tempfile.TemporaryDirectory() as directory, ControlPlane(Path(directory)) as plane:
        server = Server(plane)
        cases = table_cases(time.time())
        for case in cases:
            try:
                found += differences(server, case)
            except RuntimeError as error:
                found.append(str(error))
    print("\n".join(found))
    print(f"{len(cases)} objects, {len(found)} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
