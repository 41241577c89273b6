"""The API: one request in, one reply out.  This page is the map from verbs and paths to what carries them out.

Synchronous and without a socket.  The HTTPS server, the in-process transport and the simulator all call `handle`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from podium.embedded import decoding, deletion, options, patching, rendering, subresources
from podium.embedded.admission import Admission
from podium.embedded.customresources import CustomResources
from podium.embedded.exchange import Held, Reply, refusal
from podium.embedded.feeds import Watch
from podium.embedded.meta import Meta
from podium.embedded.objects import Identities, Objects
from podium.embedded.podlogs import read_log
from podium.embedded.reading import list_bytes, list_page, too_large
from podium.embedded.registry import Kind, Registry
from podium.embedded.routing import Target, resolve
from podium.embedded.store import Record, Store
from podium.errors import ApiError
from podium.kube import status
from podium.kube.admission import Hook
from podium.kube.resources import BINDINGS
from podium.kube.transport import JSON, Request, Response
from podium.schema import protobuf

log = logging.getLogger(__name__)

Document = dict[str, Any]
Endpoint = Callable[[Request], Response]


_CREATED = Response(201, b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}')


class Api:
    """A whole API server but for the bytes on the wire."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        clock: Callable[[], float],
        identities: Identities,
        hooks: Iterable[Hook] = (),
        endpoints: Mapping[str, Endpoint] | None = None,
    ) -> None:
        self.store = store
        self.registry = registry
        self.clock = clock
        self.objects = Objects(store, registry, Admission(store, registry, hooks), clock, identities)
        self._custom = CustomResources(self.objects)
        self._meta = Meta(registry)
        self._endpoints = dict(endpoints or {})

    def handle(self, request: Request) -> Reply:
        """Answers a request.  Never raises: a refusal is an answer, and so is a bug."""
        try:
            target = resolve(self.registry, request.path)
            if request.content_type.startswith(protobuf.MEDIA_TYPE):
                request = _as_json(request)
            if target is not None:
                return self._dispatch(target, request)
            endpoint = self._endpoints.get(request.path)
            if endpoint is not None:
                return endpoint(request)
            return self._meta.answer(request)
        except ApiError as error:
            return refusal(error)
        except Exception:
            log.exception("%s %s failed", request.method, request.path)
            return refusal(ApiError(500, "InternalError", "an internal error: the server's log has the details"))

    def _dispatch(self, target: Target, request: Request) -> Reply:
        if target.subresource:
            handler = _SUBRESOURCES.get((target.subresource, request.method))
            if handler is None and target.subresource in target.kind.to_processes:
                self.objects.require(target.kind, target.namespace, target.name)
                raise subresources.no_process(target.kind, target.name, target.subresource)
        elif target.name:
            handler = _OBJECT.get(request.method)
        else:
            handler = _COLLECTION.get(request.method)
        if handler is None or not _allowed(target, request):
            raise status.method_not_allowed()
        return handler(self, target, request)

    # --- collections -----------------------------------------------------------------------------------------

    def _list(self, target: Target, request: Request) -> Reply:
        options.check_list(request)
        if request.flag("watch"):
            render = rendering.event_renderer(request, target.kind, self.clock)
            return Watch(self.store, target.kind, target.namespace, request, render)
        page = list_page(self.store, target.kind, target.namespace, request)
        return Response(200, rendering.collection(request, target.kind, page, self.clock()))

    def _create(self, target: Target, request: Request) -> Reply:
        dry_run = options.check_write(request, "CreateOptions")
        document, warnings = self._decode(target.kind, request)
        if target.kind.resource == BINDINGS:
            name = (document.get("metadata") or {}).get("name", "")
            subresources.bind(self.objects, (target.namespace, name), document, dry_run=dry_run)
            return self._done()
        if target.kind.custom:
            self._custom.refuse_late(target.kind, (document.get("metadata") or {}).get("name", ""))
        record = self.objects.create(target.kind, target.namespace, document, dry_run=dry_run)
        if target.kind.strategy.without_effect:
            warnings.append(target.kind.strategy.without_effect)
        return self._written(target.kind, record, request, warnings, code=201)

    def _delete_collection(self, target: Target, request: Request) -> Reply:
        wanted = options.read_delete(request)
        page = list_page(self.store, target.kind, target.namespace, request)
        for record in page.records:
            self.objects.admission.check_delete(target.kind, record)
            deletion.delete(self.objects, target.kind, record, wanted)
        return Held(Response(200, list_bytes(target.kind, page)), self.store.last_entry)

    # --- objects ---------------------------------------------------------------------------------------------

    def _get(self, target: Target, request: Request) -> Reply:
        record = self.objects.require(target.kind, target.namespace, target.name)
        version = options.version(request)
        if version > self.store.version:
            raise too_large(version, self.store.version)
        return Response(200, rendering.item(request, target.kind, record, self.clock()))

    def _replace(self, target: Target, request: Request) -> Reply:
        document, warnings = self._decode(target.kind, request)
        existed = self.store.get(target.kind.storage, target.namespace, target.name) is not None
        record = self.objects.update(
            target.kind,
            (target.namespace, target.name),
            document,
            subresource=target.subresource,
            dry_run=options.check_write(request, "UpdateOptions"),
        )
        return self._written(target.kind, record, request, warnings, code=200 if existed else 201)

    def _patch(self, target: Target, request: Request) -> Reply:
        key = (target.namespace, target.name)
        record, warnings = patching.patch(
            self.objects,
            target.kind,
            key,
            target.subresource,
            request,
            dry_run=options.check_write(request, "PatchOptions"),
        )
        return self._written(target.kind, record, request, warnings)

    def _delete(self, target: Target, request: Request) -> Reply:
        record = self.objects.require(target.kind, target.namespace, target.name)
        self.objects.admission.check_delete(target.kind, record)
        result = deletion.delete(self.objects, target.kind, record, options.read_delete(request))
        if not result.gone or target.kind.strategy.returned_on_delete:
            return self._written(target.kind, result.record, request)
        details: Document = {"name": record.name, "kind": target.kind.resource.plural, "uid": record.uid}
        if target.kind.resource.group:
            details["group"] = target.kind.resource.group
        done = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
        return Held(Response(200, msgspec.json.encode(done)), self.store.last_entry)

    # --- subresources ----------------------------------------------------------------------------------------

    def _bind(self, target: Target, request: Request) -> Reply:
        binding = decoding.decode_options(request, "Binding", "Binding")
        subresources.bind(
            self.objects,
            (target.namespace, target.name),
            binding,
            dry_run=options.check_write(request, "CreateOptions"),
        )
        return self._done()

    def _evict(self, target: Target, request: Request) -> Reply:
        eviction = decoding.decode_options(request, "Eviction", "policy/Eviction")
        subresources.evict(self.objects, target.kind, (target.namespace, target.name), eviction)
        return self._done()

    def _get_scale(self, target: Target, request: Request) -> Reply:
        record = self.objects.require(target.kind, target.namespace, target.name)
        return Response(200, msgspec.json.encode(subresources.scale_of(target.kind, record)))

    def _set_scale(self, target: Target, request: Request) -> Reply:
        scale = decoding.decode_options(request, "Scale", "autoscaling/Scale")
        return self._scaled(target, request, scale)

    def _patch_scale(self, target: Target, request: Request) -> Reply:
        record = self.objects.require(target.kind, target.namespace, target.name)
        before = subresources.scale_of(target.kind, record)
        return self._scaled(target, request, patching.apply_to_scale(before, request))

    def _scaled(self, target: Target, request: Request, scale: Document) -> Reply:
        key = (target.namespace, target.name)
        dry_run = options.check_write(request, "UpdateOptions")
        record = subresources.set_scale(self.objects, target.kind, key, scale, dry_run=dry_run)
        body = msgspec.json.encode(subresources.scale_of(target.kind, record))
        return Held(Response(200, body), self.store.last_entry)

    def _log(self, target: Target, request: Request) -> Reply:
        return read_log(self.store, target.namespace, target.name, request, self.clock)

    # --- shared ----------------------------------------------------------------------------------------------

    def _decode(self, kind: Kind, request: Request) -> tuple[Document, list[str]]:
        document = decoding.decode_body(request, what=kind.resource.kind)
        document = decoding.check_type_meta(document, kind)
        return document, decoding.check_fields(document, kind, request.param("fieldValidation"), request.body)

    def _written(
        self, kind: Kind, record: Record, request: Request, warnings: Iterable[str] = (), code: int = 200
    ) -> Reply:
        headers = tuple(("Warning", f"299 - {msgspec.json.encode(text).decode()}") for text in warnings)
        body = rendering.item(request, kind, record, self.clock())
        return Held(Response(code, body, headers=headers), self.store.last_entry)

    def _done(self) -> Reply:
        return Held(_CREATED, self.store.last_entry)


def _as_json(request: Request) -> Request:
    """Go clients send the built-in kinds as protobuf; from here on everybody sends JSON."""
    if not request.body:
        return msgspec.structs.replace(request, content_type=JSON)
    try:
        document = protobuf.decode_object(request.body)
    except protobuf.ProtobufError as error:
        raise status.bad_request(str(error)) from None
    return msgspec.structs.replace(request, body=msgspec.json.encode(document), content_type=JSON)


_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def _allowed(target: Target, request: Request) -> bool:
    """A kind need not serve every verb."""
    if target.subresource:
        return True
    if request.method == "DELETE" and not target.name:
        return "deletecollection" in target.kind.verbs
    if request.method == "POST" and target.kind.resource.namespaced and not target.namespace:
        return False
    return _VERBS.get(request.method, "get") in target.kind.verbs


Handler = Callable[[Api, Target, Request], Reply]

_COLLECTION: dict[str, Handler] = {
    "GET": Api._list,
    "POST": Api._create,
    "DELETE": Api._delete_collection,
}
_OBJECT: dict[str, Handler] = {
    "GET": Api._get,
    "PUT": Api._replace,
    "PATCH": Api._patch,
    "DELETE": Api._delete,
}
_SUBRESOURCES: dict[tuple[str, str], Handler] = {
    ("status", "GET"): Api._get,
    ("status", "PUT"): Api._replace,
    ("status", "PATCH"): Api._patch,
    ("scale", "GET"): Api._get_scale,
    ("scale", "PUT"): Api._set_scale,
    ("scale", "PATCH"): Api._patch_scale,
    ("finalize", "PUT"): Api._replace,
    ("binding", "POST"): Api._bind,
    ("eviction", "POST"): Api._evict,
    ("log", "GET"): Api._log,
}
