"""Reading list pages, watch lines and answers into typed objects: at full speed while they fit, else leniently.

One object that does not fit its struct must not hide the others: it comes as `Undecodable` with whatever name
it has.

Pods come by the ten thousand, from anybody, and a server takes 256 KiB of annotations with each.  Those that are
longer than anything podium reads are cut before anybody keeps them (`cut_annotations`).  Other kinds stay whole:
their annotations go onto what is made for them.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import msgspec

from podium.errors import ApiError
from podium.kube.deltas import Undecodable
from podium.kube.nesting import decode
from podium.kube.status import error_from_body
from podium.kube.wire import Object, Pod

T = TypeVar("T", bound=Object)


class Page(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list; `more` is the token of the next one."""

    entries: list[T | Undecodable]
    version: str
    more: str


class Changed(msgspec.Struct, Generic[T], frozen=True):
    """ADDED, MODIFIED or (`gone`) DELETED: which of the first two it is, the mirror knows better."""

    entry: T | Undecodable
    gone: bool = False


class Bookmark(msgspec.Struct, frozen=True):
    """Nothing happened up to this version."""

    version: str


Event = Changed[T] | Bookmark | ApiError | None


class _ListMeta(msgspec.Struct, rename="camel"):
    resource_version: str = ""
    more: str = msgspec.field(default="", name="continue")


class _List(msgspec.Struct, Generic[T]):
    metadata: _ListMeta
    items: list[T] | None = None


class _RawList(msgspec.Struct):
    metadata: _ListMeta
    items: list[msgspec.Raw] | None = None


class _Event(msgspec.Struct, Generic[T]):
    type: str
    object: T


class _RawEvent(msgspec.Struct):
    type: str
    object: msgspec.Raw


_HEAD_BYTES = 4096
# Bytes of a pod whose annotations are not looked at, and characters of annotations that are kept of others.  A pod
# of every day has 2 to 6 kB; the longest text that is read is a list of the gangs of one group.
ROOMY = 64 << 10
_BEGINNING = 64  # characters that are left of one that is cut

_raw_list = msgspec.json.Decoder(_RawList)
_raw_event = msgspec.json.Decoder(_RawEvent)
_anything = msgspec.json.Decoder()


class Reader(Generic[T]):
    """Decodes for one struct.  All methods raise msgspec.DecodeError for what is no list, event or object."""

    def __init__(self, struct: type[T]) -> None:
        self._cuts = issubclass(struct, Pod)
        self._object = msgspec.json.Decoder(struct)
        self._list = msgspec.json.Decoder(_List[struct])  # type: ignore[valid-type]
        self._event = msgspec.json.Decoder(_Event[struct])  # type: ignore[valid-type]

    def page(self, body: bytes) -> Page[T]:
        try:
            typed = decode(self._list, body)
        except msgspec.ValidationError:
            raw = decode(_raw_list, body)
            return Page(
                [self._entry(bytes(item)) for item in raw.items or ()],
                raw.metadata.resource_version,
                raw.metadata.more,
            )
        items = typed.items or []
        # By the average: looking at each pod would be felt in a list of 50,000, and their sum is what counts.
        if self._cuts and len(body) > ROOMY * len(items):
            for each in items:
                cut_annotations(each)
        return Page([*items], typed.metadata.resource_version, typed.metadata.more)

    def event(self, line: bytes) -> Event[T]:
        """One line of a watch; None for a type that did not exist when this was written."""
        try:
            typed = decode(self._event, line)
        except msgspec.ValidationError:
            pass
        else:
            if typed.type in ("ADDED", "MODIFIED", "DELETED"):
                if self._cuts and len(line) > ROOMY:
                    cut_annotations(typed.object)
                return Changed(typed.object, typed.type == "DELETED")
        raw = decode(_raw_event, line)
        body = bytes(raw.object)
        if raw.type in ("ADDED", "MODIFIED", "DELETED"):
            return Changed(self._entry(body), raw.type == "DELETED")
        if raw.type == "BOOKMARK":
            return Bookmark(_metadata(body)["resourceVersion"])
        return error_from_body(500, body) if raw.type == "ERROR" else None

    def one(self, body: bytes) -> T:
        """An object by itself, such as the answer to a write; msgspec.ValidationError if it does not fit."""
        found = decode(self._object, body)
        if self._cuts and len(body) > ROOMY:
            cut_annotations(found)
        return found

    def _entry(self, raw: bytes) -> T | Undecodable:
        try:
            return self.one(raw)
        except msgspec.ValidationError as error:
            found = _metadata(raw)
            key = (found["namespace"], found["name"])
            return Undecodable(key, str(error), raw, found["uid"], found["resourceVersion"])


def cut_annotations(obj: Object) -> None:
    """Leaves the beginning of the longest annotations until all of them together are no longer than `ROOMY`.

    Keys stay: by them others know whom a pod concerns.  What is cut ends in a character that stands in no name,
    number or list, so that nobody takes it for what was written.
    """
    annotations = obj.metadata.annotations or {}
    excess = sum(map(len, annotations.values())) - ROOMY
    if excess <= 0:
        return
    for key, value in sorted(annotations.items(), key=lambda pair: len(pair[1]), reverse=True):
        if excess <= 0 or len(value) <= _BEGINNING:
            return
        annotations[key] = value[:_BEGINNING] + "…"
        excess -= len(value) - _BEGINNING


def peek_more(body: bytes) -> str:
    """The token of the page after this one, from the head of the body alone; empty if it does not stand there."""
    head, items, _ = body[:_HEAD_BYTES].partition(b'"items":')
    if not items:
        return ""
    try:
        return _raw_list.decode(head + b'"items":null}').metadata.more
    except msgspec.DecodeError:
        return ""


def _metadata(raw: bytes) -> dict[str, str]:
    """What can be saved of an object's metadata: an empty text for each field that is missing or no text."""
    document: Any = decode(_anything, raw)
    metadata = document.get("metadata") if isinstance(document, dict) else None
    found = metadata if isinstance(metadata, dict) else {}
    return {
        field: found[field] if isinstance(found.get(field), str) else ""
        for field in ("namespace", "name", "uid", "resourceVersion")
    }
