"""GET and LIST: selectors, the rules of resourceVersion, and pages that are consistent with each other."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import msgspec

from podium.embedded import options
from podium.embedded.conversion import is_served_form, to_served
from podium.embedded.registry import Kind
from podium.embedded.store import Record, Store
from podium.embedded.tables import list_metadata
from podium.errors import ApiError
from podium.kube import selectors, status
from podium.kube.cache import Key
from podium.kube.transport import Request

Document = dict[str, Any]

# What an absent field counts as.
_ABSENT = {
    "spec.unschedulable": "false",
    "spec.hostNetwork": "false",
    "status.successful": "0",
    "status.replicas": "0",
}


class Filter:
    """A label and a field selector compiled for one kind: which records they let through."""

    def __init__(self, kind: Kind, labels: str, fields: str) -> None:
        self._kind = kind
        try:
            self._labels = selectors.parse_labels(labels) if labels else None
        except ValueError as error:
            raise status.bad_request(str(error)) from None
        try:
            self._fields = selectors.parse_fields(fields)
        except ValueError as error:
            raise status.bad_request(str(error)) from None
        known = ("metadata.name", "metadata.namespace", *(path.lstrip(".") for path in kind.selectable_fields))
        strange = self._fields.unsupported(known)
        if strange is not None:
            if kind.selectable_fields and not kind.custom:
                raise status.bad_request(f"field label not supported: {strange}")
            reported = ", ".join(f'"{path}"' for path in known)
            raise status.bad_request(f'"{strange}" is not a known field selector: only {reported}')
        # An equality on a field inside the document can be ruled out by a look at the bytes, which is ten times
        # cheaper than decoding them: `spec.nodeName=x` over 50,000 pods.
        self._needles = [
            msgspec.json.encode(each.value)
            for each in self._fields.requirements
            if each.operator == "=" and each.value and each.path not in _ABSENT
        ]

    @property
    def everything(self) -> bool:
        return self._labels is None and self._fields.everything

    def admits(self, record: Record) -> bool:
        if self._labels is not None and not self._labels(record.labels or {}):
            return False
        if self._fields.everything:
            return True
        if any(needle not in record.data for needle in self._needles):
            return False
        document: Document | None = None

        def value_at(path: str) -> str:
            nonlocal document
            if path == "metadata.name":
                return record.name
            if path == "metadata.namespace":
                return record.namespace
            if document is None:
                document = to_served(self._kind, record.document())
            return _field(document, path)

        return self._fields(value_at)


def _field(document: Document, path: str) -> str:
    if path == "source":
        return _field(document, "source.component") or _field(document, "reportingComponent")
    if path == "status.successful":
        path = "status.succeeded"
    value: Any = document
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return _ABSENT.get(path, "0" if path == "status.succeeded" else "")
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


class Page(msgspec.Struct, frozen=True):
    """One page of a list."""

    records: list[Record]
    version: int
    token: str = ""
    remaining: int | None = None


class _Token(msgspec.Struct):
    """Where the next page begins, and as of which version."""

    v: int
    ns: str
    name: str


def list_page(store: Store, kind: Kind, namespace: str, request: Request) -> Page:
    """The page of a collection that a request asks for."""
    chosen = Filter(kind, request.param("labelSelector"), request.param("fieldSelector"))
    limit = max(0, options.number(request, "limit") or 0)
    token = request.param("continue")
    after: Key | None = None
    if token:
        start = _decode_token(token)
        version, after = start.v, (start.ns, start.name)
        if request.param("resourceVersion") not in ("", "0"):
            raise status.bad_request("specifying resource version is not allowed when using continue")
    else:
        version = _version_to_list(store, request)
    candidates = _records(store, kind, namespace, version, after)
    if not chosen.everything:
        candidates = filter(chosen.admits, candidates)
    if not limit:
        return Page(list(candidates), version)
    records: list[Record] = []
    for record in candidates:
        if len(records) == limit:
            last = records[-1]
            # How many are left is only known without selectors, as on a real server.
            rest = 1 + sum(1 for _ in candidates) if chosen.everything else None
            return Page(records, version, _encode_token(_Token(version, last.namespace, last.name)), rest)
        records.append(record)
    return Page(records, version)


def _records(store: Store, kind: Kind, namespace: str, version: int, after: Key | None) -> Iterator[Record]:
    """The collection as of `version`, in order of keys."""
    if version == store.version:
        return store.scan(kind.storage, namespace, after)
    then = store.bucket(kind.storage).as_of(version)
    if then is None:
        raise status.gone(
            "The provided continue parameter is too old to display a consistent list result. "
            "You can start a new list without the continue parameter."
        )
    return _records_then(store, kind, namespace, then, after)


def _records_then(
    store: Store, kind: Kind, namespace: str, then: dict[Key, Record | None], after: Key | None
) -> Iterator[Record]:
    now = {record.key: record for record in store.scan(kind.storage, namespace, after)}
    for key, record in then.items():
        if (namespace and key[0] != namespace) or (after is not None and key <= after):
            continue
        if record is None:
            now.pop(key, None)
        else:
            now[key] = record
    for key in sorted(now):
        yield now[key]


def _version_to_list(store: Store, request: Request) -> int:
    """As of which version to list: now, unless exactly an older one is asked for."""
    wanted = request.param("resourceVersion")
    match = request.param("resourceVersionMatch")
    if wanted in ("", "0"):
        return store.version
    version = options.version(request)
    if version > store.version:
        raise too_large(version, store.version)
    exact = match == "Exact" or (not match and request.param("limit"))
    return version if exact else store.version


def too_large(version: int, current: int) -> ApiError:
    """A version from the future: from another server, or from before data were lost."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return ApiError(
        504,
        "Timeout",
        f"Too large resource version: {version}, current: {current}",
        {"causes": [cause], "retryAfterSeconds": 1},
    )


def _encode_token(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode().rstrip("=")


def _decode_token(text: str) -> _Token:
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=_Token)
    except (ValueError, msgspec.MsgspecError):
        raise status.bad_request("invalid continue token: start a new list without it") from None


# --- encoding ------------------------------------------------------------------------------------------------


def served_bytes(kind: Kind, record: Record) -> bytes:
    """The object as this kind's readers get it."""
    if is_served_form(kind, record):
        return record.data
    return msgspec.json.encode(to_served(kind, record.document()))


def list_bytes(kind: Kind, page: Page) -> bytes:
    """A List document, put together from the stored bytes without decoding one of them."""
    metadata = list_metadata(str(page.version), page.token, page.remaining)
    head = msgspec.json.encode(
        {"kind": f"{kind.resource.kind}List", "apiVersion": kind.resource.api_version, "metadata": metadata}
    )
    items = [served_bytes(kind, each) for each in page.records]
    if not kind.custom:
        # The items of a built-in list do not repeat what they are; every document begins with just that.
        start = len(b'%s,"kind":"%s",' % (kind.prefix, kind.resource.kind.encode()))
        items = [b"{" + item[start:] for item in items]
    return head[:-1] + b',"items":[' + b",".join(items) + b"]}"
