"""From records to the bytes of an answer, in the form that the request asks for.

Plain JSON is the stored bytes; only tables and bare metadata need a decoded document.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from podium.embedded import representations
from podium.embedded.conversion import to_served
from podium.embedded.reading import Page, list_bytes, served_bytes
from podium.embedded.registry import Kind
from podium.embedded.store import Record
from podium.kube.transport import Request


def item(request: Request, kind: Kind, record: Record, now: float) -> bytes:
    """One object."""
    form = representations.negotiate(request.accept)
    if form.plain:
        return served_bytes(kind, record)
    include = representations.included_object(request.param("includeObject"))
    document = to_served(kind, record.document())
    return msgspec.json.encode(representations.render_object(form, kind, document, now=now, include=include))


def collection(request: Request, kind: Kind, page: Page, now: float) -> bytes:
    """A page of a list."""
    form = representations.negotiate(request.accept)
    if form.plain:
        return list_bytes(kind, page)
    return msgspec.json.encode(
        representations.render_list(
            form,
            kind,
            [to_served(kind, record.document()) for record in page.records],
            now=now,
            resource_version=str(page.version),
            continue_token=page.token,
            remaining=page.remaining,
            include=representations.included_object(request.param("includeObject")),
        )
    )


def event_renderer(
    request: Request, kind: Kind, clock: Callable[[], float]
) -> Callable[[Record, bool], bytes] | None:
    """How the objects of a watch's events are encoded; None if as they are stored."""
    form = representations.negotiate(request.accept)
    if form.plain:
        return None
    include = representations.included_object(request.param("includeObject"))

    def render(record: Record, first: bool) -> bytes:
        document = to_served(kind, record.document())
        shown = representations.render_event_object(
            form, kind, document, now=clock(), first=first, include=include
        )
        return msgspec.json.encode(shown)

    return render
