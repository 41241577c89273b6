"""Everything the API says about itself: discovery, OpenAPI, version and health."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable

import msgspec

from podium.embedded.discovery import Discovery, version_document
from podium.embedded.etags import tagged, unless_known
from podium.embedded.registry import Kind, Registry
from podium.embedded.representations import accepted, not_acceptable
from podium.kube import status
from podium.kube.resources import Resource
from podium.kube.transport import JSON, Request, Response
from podium.schema import openapi, openapi_proto
from podium.schema.model import Schema

HEALTH = ("/healthz", "/livez", "/readyz", "/ping")


class Meta:
    """Answers from a registry; the documents are made anew only when a kind came or went."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._discovery = Discovery(registry)
        self._version = -1
        self._documents: dict[tuple[str, str], Response] = {}

    def answer(self, request: Request) -> Response:
        return unless_known(self._answer(request), request.if_none_match)

    def _answer(self, request: Request) -> Response:
        path = request.path.rstrip("/") or "/"
        if path in HEALTH:
            return Response(200, b"ok", "text/plain; charset=utf-8")
        if request.method not in ("GET", "HEAD"):
            raise status.method_not_allowed()
        found = self._discovery.answer(request.path, request.accept)
        if found is not None:
            return found
        if path == "/version":
            return Response(200, msgspec.json.encode(version_document()))
        if path == "/openapi/v2":
            form = _swagger_form(request.accept)
            return self._cached(path, lambda: openapi.swagger_document(self._pairs()), form)
        if path == "/openapi/v3":
            return self._cached(path, self._openapi_index)
        if path.startswith("/openapi/v3/"):
            kinds = self._kinds_at(path.removeprefix("/openapi/v3/"))
            return self._cached(path, lambda: openapi.group_version_document(self._pairs(kinds)))
        raise status.no_page()

    def _cached(self, path: str, make: Callable[[], openapi.Document], form: str = JSON) -> Response:
        if self._version != self._registry.version:
            self._documents.clear()
            self._version = self._registry.version
        found = self._documents.get((path, form))
        if found is None:
            body = msgspec.json.encode(make()) if form == JSON else openapi_proto.encode_swagger(make())
            found = self._documents[path, form] = tagged(body, form)
        return found

    def _pairs(self, kinds: Iterable[Kind] | None = None) -> list[tuple[Resource, Schema]]:
        return [(kind.resource, kind.schema) for kind in (self._registry if kinds is None else kinds)]

    def _kinds_at(self, place: str) -> list[Kind]:
        """The kinds of `api/v1` or `apis/<group>/<version>`."""
        kinds = [kind for kind in self._registry if _place(kind) == place]
        if not kinds:
            raise status.unknown_path()
        return kinds

    def _openapi_index(self) -> openapi.Document:
        """Where each group's document is; the hash lets clients keep it until it changes."""
        paths = {}
        for place in sorted({_place(kind) for kind in self._registry}):
            mark = hashlib.sha256(f"{place} {self._registry.version}".encode()).hexdigest()[:32].upper()
            paths[place] = {"serverRelativeURL": f"/openapi/v3/{place}?hash={mark}"}
        return {"paths": paths}


def _swagger_form(accept: str) -> str:
    """The media type in which a client prefers the older document."""
    if not accept.strip():
        return JSON
    for clause in accepted(accept):
        if clause.name in (JSON, "application/*", "*/*"):
            return JSON
        if clause.name in (openapi_proto.MEDIA_TYPE, openapi_proto.REQUESTED_AS):
            return openapi_proto.MEDIA_TYPE
    raise not_acceptable(JSON, openapi_proto.MEDIA_TYPE)


def _place(kind: Kind) -> str:
    resource = kind.resource
    return f"apis/{resource.group}/{resource.version}" if resource.group else f"api/{resource.version}"
