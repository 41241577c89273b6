"""The API in memory, on a clock that somebody else turns: what virtual clusters write to.

Identities are counted, so that the same requests give the same objects.  Whoever wants to know of every write, in
order, listens to the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from podium.dialects.dialect import Dialect, views_of
from podium.embedded.api import Api
from podium.embedded.bootstrap import bootstrap, install
from podium.embedded.exchange import Feed, Held, Reply
from podium.embedded.identities import CountedIdentities
from podium.embedded.kinds import builtin_kinds
from podium.embedded.log import MemoryLog
from podium.embedded.registry import Registry
from podium.embedded.store import Bucket, Record, Store
from podium.errors import ApiError, UsageError
from podium.kube.changes import (
    Change,
    Create,
    CreateKeyPair,
    Delete,
    KeyPair,
    Patch,
    read_answer,
    request_of,
    with_keys,
)
from podium.kube.resources import Resource
from podium.kube.transport import Request, Response
from podium.kube.wire import Object, struct_of

Document = dict[str, Any]
# Called for every write: the resource, the record, and whether it is gone.
Listener = Callable[[Resource, Record, bool], None]

_PORT = 6443
_FIXED_KEYS = KeyPair("a private key of the simulator", "a public key of the simulator")


class _Journal(MemoryLog):
    """Keeps nothing, and calls everybody."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners: list[Listener] = []

    def append(self, resource: Resource, record: Record, deleted: bool) -> int:
        for listener in self.listeners:
            listener(resource, record, deleted)
        return super().append(resource, record, deleted)


class Server:
    """An API server without a socket, with the kinds of some API families."""

    def __init__(self, dialects: Iterable[Dialect], clock: Callable[[], float]) -> None:
        spoken = tuple(dialects)
        journal = _Journal()
        self.listeners = journal.listeners
        self.store = Store(journal)
        hooks = tuple(hook for dialect in spoken for hook in dialect.hooks)
        self.api = Api(self.store, Registry(builtin_kinds()), clock, CountedIdentities(), hooks)
        bootstrap(self.api.objects, _PORT)
        for dialect in spoken:
            install(self.api.objects, (*dialect.documents(), *dialect.objects))
        self._views = views_of(spoken)
        self._decoders: dict[Resource, msgspec.json.Decoder[Object]] = {}

    # --- requests ----------------------------------------------------------------------------------------------

    def handle(self, request: Request) -> Response | Feed:
        reply: Reply = self.api.handle(request)
        return reply.response if isinstance(reply, Held) else reply

    def carry_out(self, change: Change) -> Object | None:
        """Makes a change: the object as the server answers it.  ApiError is the server's own."""
        if isinstance(change, CreateKeyPair):
            change = with_keys(change, _FIXED_KEYS)
        response = self.handle(request_of(change))
        assert isinstance(response, Response)
        return read_answer(change, response, self._read)

    # --- what users do -----------------------------------------------------------------------------------------

    def served(self, api_version: str, kind: str) -> Resource:
        """The resource of a kind.  UsageError if there is none."""
        found = self.api.registry.of_kind(api_version, kind)
        if found is None:
            raise UsageError(f"there is no kind {kind!r} of {api_version!r}")
        return found.resource

    def apply(self, document: Document) -> Object | None:
        """Creates an object."""
        resource = self.served(str(document.get("apiVersion", "")), str(document.get("kind", "")))
        metadata = document.get("metadata") or {}
        namespace = metadata.get("namespace", "default") if resource.namespaced else ""
        return self.carry_out(Create(resource, namespace, document))

    def put(self, resource: Resource, document: Document) -> None:
        """Puts an object there as it is, with identity and status, as if it had always been there."""
        kind = self.api.registry.find(resource.group, resource.version, resource.plural)
        if kind is None:
            raise UsageError(f"there is no kind {resource.kind!r} of {resource.api_version!r}")
        metadata = document["metadata"]
        old = self.store.get(kind.storage, metadata.get("namespace", ""), metadata["name"])
        self.store.put(kind.storage, document, old)

    def delete(self, resource: Resource, namespace: str, name: str, grace: int | None = None) -> None:
        """Deletes an object, if it is there."""
        try:
            self.carry_out(Delete(resource, namespace, name, grace=grace))
        except ApiError as error:
            if error.code != 404:
                raise

    def patch(self, resource: Resource, namespace: str, name: str, patch: Document, subresource: str = "") -> None:
        self.carry_out(Patch(resource, namespace, name, patch, subresource))

    # --- what stands in it ---------------------------------------------------------------------------------------

    def bucket(self, resource: Resource) -> Bucket | None:
        """What the store holds of a resource, and its history; None if it is not served."""
        kind = self.api.registry.find(resource.group, resource.version, resource.plural)
        return self.store.bucket(kind.storage) if kind is not None else None

    def objects(self, resource: Resource) -> list[Object]:
        """Everything of a resource, in the order of the keys."""
        bucket = self.bucket(resource)
        records = bucket.objects.values() if bucket is not None else ()
        return [self.decode(resource, record.data) for record in records]

    def find(self, resource: Resource, namespace: str, name: str) -> Object | None:
        """One object, if it is there."""
        bucket = self.bucket(resource)
        record = bucket.objects.get((namespace, name)) if bucket is not None else None
        return self.decode(resource, record.data) if record is not None else None

    def _read(self, resource: Resource, body: bytes) -> Object | None:
        try:
            answered = self.decode(resource, body)
        except msgspec.DecodeError:
            return None  # a Status
        return answered if answered.metadata.name else None

    def decode(self, resource: Resource, data: bytes) -> Object:
        decoder = self._decoders.get(resource)
        if decoder is None:
            decoder = self._decoders[resource] = msgspec.json.Decoder(self.view(resource))
        return decoder.decode(data)

    def view(self, resource: Resource) -> type[Object]:
        """The struct that a resource is read through."""
        return self._views.get(resource) or struct_of(resource)
