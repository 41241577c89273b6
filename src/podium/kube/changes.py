"""Writes as plain data: what a reconcile() wants done.  A shell carries them out and reports each result.

Creates and deletes name the UID or a derived name, so that carrying one out twice does no harm: the second
time it is a 409 or a 404, which the shell counts as done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from podium.kube.resources import Resource
from podium.kube.status import error_from_body
from podium.kube.transport import JSON, MERGE_PATCH, Request, Response
from podium.kube.wire import Object

Document = dict[str, Any]


class Create(msgspec.Struct, frozen=True):
    """POST of a new object, or, with `name` and `subresource`, of e.g. a pod's binding."""

    resource: Resource
    namespace: str
    document: Document
    name: str = ""
    subresource: str = ""


class CreateKeyPair(Create, frozen=True):
    """POST of a new Secret with an RSA key pair in it, which only the shell can make: see `with_keys`.

    `private` and each of `public` are keys of the Secret's data.
    """

    private: str = "id_rsa"
    public: tuple[str, ...] = ("id_rsa.pub", "authorized_keys")


class KeyPair(msgspec.Struct, frozen=True):
    """Both halves as text: PEM, and one line as `authorized_keys` has it."""

    private: str
    public: str


class Patch(msgspec.Struct, frozen=True):
    """PATCH of an object or of a subresource (usually `status`).

    `uid` guards against another object of the same name: it travels inside the patch as metadata.uid, which
    the server refuses with 422 (the field is immutable) when it differs.
    """

    resource: Resource
    namespace: str
    name: str
    patch: Document
    subresource: str = ""
    content_type: str = MERGE_PATCH
    uid: str = ""
    resource_version: str = ""


class Replace(msgspec.Struct, frozen=True):
    """PUT of a whole document to a subresource that takes nothing else, like a namespace's `finalize`."""

    resource: Resource
    namespace: str
    name: str
    document: Document
    subresource: str


class Delete(msgspec.Struct, frozen=True):
    """DELETE with preconditions; `grace` None leaves the object's own period.

    Without a name it is the whole collection: all objects of the resource in the namespace.
    """

    resource: Resource
    namespace: str
    name: str
    uid: str = ""
    grace: int | None = None
    propagation: str = ""


class Read(msgspec.Struct, frozen=True):
    """GET of one object: a question instead of a write, where acting on a cache that lags would do harm.

    `uid` is the object in doubt; an answer that shows another one means that it is gone.
    """

    resource: Resource
    namespace: str
    name: str
    uid: str


Change = Create | Patch | Replace | Delete | Read


# Decodes an object of a resource; None for what is none, such as a Status.
Reader = Callable[[Resource, bytes], Object | None]


def read_answer(change: Change, response: Response, read: Reader) -> Object | None:
    """What a server answered to a change: the object as it is now; None if there is none, or it is gone.

    ApiError is the server's own.
    """
    if not 200 <= response.status < 300:
        raise error_from_body(response.status, response.body, response.header("Retry-After"))
    if isinstance(change, Create) and change.subresource:
        return None
    answered = read(change.resource, response.body) if change.name or isinstance(change, Create) else None
    if isinstance(change, Delete):
        return answered if answered is not None and _is_held(answered) else None
    return answered


def _is_held(obj: Object) -> bool:
    """A deleted object that is still there: something has to let it go first."""
    return bool(obj.metadata.finalizers or obj.metadata.deletion_grace_period_seconds)


def with_keys(change: CreateKeyPair, keys: KeyPair) -> Create:
    """The Create of a Secret that holds these keys."""
    texts = {change.private: keys.private} | dict.fromkeys(change.public, keys.public)
    document = {**change.document, "stringData": {**change.document.get("stringData", {}), **texts}}
    return Create(change.resource, change.namespace, document)


def request_of(change: Change) -> Request:
    """The HTTP request that carries a change out."""
    if isinstance(change, Create):
        path = change.resource.path(change.namespace, change.name, change.subresource)
        return Request("POST", path, body=msgspec.json.encode(change.document))
    subresource = change.subresource if isinstance(change, Patch | Replace) else ""
    path = change.resource.path(change.namespace, change.name, subresource)
    if isinstance(change, Replace):
        return Request("PUT", path, body=msgspec.json.encode(change.document))
    if isinstance(change, Read):
        return Request("GET", path)
    if isinstance(change, Patch):
        patch = change.patch
        guards = {"uid": change.uid, "resourceVersion": change.resource_version}
        guards = {key: value for key, value in guards.items() if value}
        if guards:
            patch = {**patch, "metadata": {**patch.get("metadata", {}), **guards}}
        return Request("PATCH", path, body=msgspec.json.encode(patch), content_type=change.content_type)
    options: Document = {"kind": "DeleteOptions", "apiVersion": "v1"}
    if change.uid:
        options["preconditions"] = {"uid": change.uid}
    if change.grace is not None:
        options["gracePeriodSeconds"] = change.grace
    if change.propagation:
        options["propagationPolicy"] = change.propagation
    return Request("DELETE", path, body=msgspec.json.encode(options), content_type=JSON)
