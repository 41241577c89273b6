"""The forms in which one object can be asked for: itself, a Table, or its metadata alone.

A client lists the media types it understands, the best first.  kubectl asks for tables and takes plain JSON;
client libraries ask for protobuf first, which this server does not speak, and take JSON too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from podium.embedded import tables
from podium.embedded.printers.cells import Document
from podium.embedded.registry import Kind
from podium.errors import ApiError
from podium.kube.status import bad_request
from podium.kube.transport import JSON

# What can stand in for an object, by the `as` parameter of a media type, and in which versions of meta.k8s.io.
_FORMS = {
    "Table": "table",
    "PartialObjectMetadata": "metadata",
    "PartialObjectMetadataList": "metadata list",
}
_VERSIONS = ("v1", "v1beta1")


class Representation(msgspec.Struct, frozen=True):
    """A negotiated form: object, table, metadata or metadata list; `version` is that of meta.k8s.io."""

    form: str = "object"
    version: str = "v1"

    @property
    def plain(self) -> bool:
        """Whether objects are sent as they are."""
        return self.form == "object"


PLAIN = Representation()


class MediaType(msgspec.Struct, frozen=True):
    """One clause of an Accept header."""

    name: str
    parameters: dict[str, str]
    quality: float = 1.0


def accepted(accept: str) -> Iterator[MediaType]:
    """The clauses of an Accept header, what the client likes best first."""
    clauses: list[MediaType] = []
    for clause in accept.split(","):
        name, *rest = (piece.strip() for piece in clause.split(";"))
        pairs = (piece.partition("=") for piece in rest)
        parameters = {key.strip(): value.strip().strip('"') for key, _, value in pairs}
        try:
            quality = float(parameters.pop("q", "1"))
        except ValueError:
            quality = 1.0
        if name and quality > 0:
            clauses.append(MediaType(name, parameters, quality))
    return iter(sorted(clauses, key=lambda each: -each.quality))


@lru_cache(maxsize=256)
def negotiate(accept: str) -> Representation:
    """The first form in an Accept header that this server can give; 406 when there is none."""
    if not accept.strip():
        return PLAIN
    for clause in accepted(accept):
        if clause.name not in (JSON, "*/*"):
            continue
        wanted = clause.parameters.get("as")
        if wanted is None:
            return PLAIN
        version = clause.parameters.get("v", "")
        if wanted in _FORMS and version in _VERSIONS and clause.parameters.get("g") == tables.META:
            return Representation(_FORMS[wanted], version)
    raise not_acceptable()


def not_acceptable(*offered: str) -> ApiError:
    """406 with the media types that there are, by default JSON alone."""
    listed = ", ".join(offered or (JSON,))
    return ApiError(406, "NotAcceptable", f"only the following media types are accepted: {listed}")


def included_object(text: str) -> str:
    """What the includeObject parameter of a table's request asks for."""
    if text in ("", "Metadata", "Object", "None"):
        return text or "Metadata"
    raise bad_request(
        f'Unable to convert to Table as requested: includeObject: Invalid value: "{text}": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


def render_object(
    representation: Representation, kind: Kind, document: Document, *, now: float, include: str = "Metadata"
) -> Document:
    """One object in the asked-for form."""
    version = representation.version
    match representation.form:
        case "table":
            return tables.table_event_row(kind, document, now=now, first=True, include=include, version=version)
        case "metadata":
            return tables.partial_metadata(document, version)
        case "metadata list":
            raise _mismatch("PartialObjectMetadataList", "not a list", kind.resource.kind)
    return document


def render_list(
    representation: Representation,
    kind: Kind,
    documents: Sequence[Document],
    *,
    now: float,
    resource_version: str,
    continue_token: str = "",
    remaining: int | None = None,
    include: str = "Metadata",
) -> Document:
    """A list in the asked-for form.  Plain lists are put together from stored bytes, not here."""
    if representation.form == "metadata":
        raise _mismatch("PartialObjectMetadata", "a list", f"{kind.resource.kind}List")
    if representation.form == "table":
        return tables.table(
            kind,
            documents,
            now=now,
            resource_version=resource_version,
            continue_token=continue_token,
            remaining=remaining,
            include=include,
            version=representation.version,
        )
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": f"{tables.META}/{representation.version}",
        "metadata": tables.list_metadata(resource_version, continue_token, remaining),
        "items": [tables.partial_metadata(document, representation.version) for document in documents],
    }


def render_event_object(
    representation: Representation,
    kind: Kind,
    document: Document,
    *,
    now: float,
    first: bool,
    include: str = "Metadata",
) -> Document:
    """The object of a watch event in the asked-for form; `first` for the first event of a watch."""
    if representation.form == "table":
        return tables.table_event_row(
            kind, document, now=now, first=first, include=include, version=representation.version
        )
    return document if representation.plain else tables.partial_metadata(document, representation.version)


def _mismatch(asked: str, what: str, kind: str) -> ApiError:
    return ApiError(406, "NotAcceptable", f"you requested {asked}, but the requested object is {what} ({kind})")
