"""Plain calls over any transport: one method for each verb, documents in and out, an exception for a refusal.

For commands and tests, and for whatever talks to an API server now and then.  What follows the cluster uses a
reflector; what writes in bulk hands `Change`s to `carry_out`.
"""

from __future__ import annotations

import asyncio
from itertools import chain
from typing import Any, TypeVar

import msgspec

from podium.errors import ApiError, TransportError
from podium.kube.changes import Change, Create, Delete, Document, request_of
from podium.kube.discovery import ServedGroup, matching
from podium.kube.nesting import decode
from podium.kube.resources import Resource
from podium.kube.status import error_from_body
from podium.kube.transport import MERGE_PATCH, Request, Response, Transport

T = TypeVar("T")
Documents = list[Document]  # `list` is a method's name below
Resources = list[Resource]
Encoded = list[msgspec.Raw]
Query = tuple[tuple[str, str], ...]

PAGE_SIZE = 500


class _Items(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


_items = msgspec.json.Decoder(_Items)
_object = msgspec.json.Decoder(Document)


class Client:
    """Every method raises ApiError when the server refuses and TransportError when it does not answer."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    async def get(self, resource: Resource, namespace: str, name: str, subresource: str = "") -> Document:
        return _document(await self._ok(Request("GET", resource.path(namespace, name, subresource))))

    async def list(
        self, resource: Resource, namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> Documents:
        """All objects, page by page; in every namespace when none is given."""
        selectors = _selectors(label_selector, field_selector)
        path = resource.path(namespace)
        try:
            return await self._pages(path, (*selectors, ("limit", str(PAGE_SIZE))))
        except ApiError as error:
            if error.code != 410:
                raise
            return await self._pages(path, selectors)  # compacted between two pages: all at once, then

    async def list_encoded(self, resource: Resource, namespace: str = "") -> Encoded:
        """All objects at once, out of the server's cache, each as the bytes that it sent."""
        request = Request("GET", resource.path(namespace), (("resourceVersion", "0"),))
        response = await self._ok(request)
        try:
            return list(decode(_items, response.body).items or ())
        except msgspec.DecodeError as error:
            raise TransportError(f"the answer is no list: {error}") from None

    async def create(
        self, resource: Resource, namespace: str, document: Document, *, strict: bool = False
    ) -> Document:
        """`strict`: a field that the server does not know is refused instead of dropped."""
        request = request_of(Create(resource, namespace, document))
        if strict:
            request = msgspec.structs.replace(request, query=(*request.query, ("fieldValidation", "Strict")))
        return _document(await self._ok(request))

    async def replace(
        self, resource: Resource, namespace: str, name: str, document: Document, subresource: str = ""
    ) -> Document:
        path = resource.path(namespace, name, subresource)
        return _document(await self._ok(Request("PUT", path, body=msgspec.json.encode(document))))

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        patch: Any,
        content_type: str = MERGE_PATCH,
        subresource: str = "",
    ) -> Document:
        """`patch` is a document, or a list of operations for a JSON patch."""
        path = resource.path(namespace, name, subresource)
        request = Request("PATCH", path, body=msgspec.json.encode(patch), content_type=content_type)
        return _document(await self._ok(request))

    async def delete(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        *,
        uid: str = "",
        grace: int | None = None,
        propagation: str = "",
    ) -> Document | None:
        """The object as it stands if it goes later (grace period, finalizers); None if it is gone."""
        if not name:
            raise ValueError("a delete without a name would be the whole collection")
        return await self.carry_out(Delete(resource, namespace, name, uid, grace, propagation))

    async def delete_collection(
        self, resource: Resource, namespace: str = "", *, label_selector: str = ""
    ) -> None:
        selectors = _selectors(label_selector, "")
        await self._ok(Request("DELETE", resource.path(namespace), selectors))

    async def carry_out(self, change: Change) -> Document | None:
        """Does what `change` says; the object as the server answered, None for an answer that is a Status."""
        document = _document(await self._ok(request_of(change)))
        return None if document.get("kind") == "Status" else document

    async def find(self, name: str) -> Resources:
        """The resources that `name` may mean: a kind, plural, singular or short name, with or without
        `.group` or `.version.group` behind it; one for each group that has it, in the preferred version."""
        groups = [ServedGroup("", ("v1",))]
        document = _document(await self._ok(Request("GET", "/apis")))
        groups += [ServedGroup.read(each) for each in document.get("groups") or ()]
        found = await asyncio.gather(*(self._find_in(group, name) for group in groups))
        return list(chain.from_iterable(found))

    async def _find_in(self, group: ServedGroup, name: str) -> Resources:
        for version in group.versions:
            response = await self.transport.request(Request("GET", group.path(version)))
            if response.status != 200:
                continue  # an extension server that is down hides its own kinds only
            found = matching(name, group.name, version, _document(response))
            if found:
                return found
        return []

    async def _pages(self, path: str, query: Query) -> Documents:
        found: Documents = []
        more = ""
        while True:
            asked = (*query, ("continue", more)) if more else query
            page = _document(await self._ok(Request("GET", path, asked)))
            found += page.get("items") or ()
            more = page.get("metadata", {}).get("continue", "")
            if not more:
                return found

    async def _ok(self, request: Request) -> Response:
        response = await self.transport.request(request)
        if not 200 <= response.status < 300:
            raise error_from_body(response.status, response.body)
        return response


def _selectors(label_selector: str, field_selector: str) -> Query:
    given = (("labelSelector", label_selector), ("fieldSelector", field_selector))
    return tuple((key, value) for key, value in given if value)


def _document(response: Response) -> Document:
    try:
        return decode(_object, response.body)
    except msgspec.DecodeError as error:
        raise TransportError(f"the answer is no object: {error}") from None
