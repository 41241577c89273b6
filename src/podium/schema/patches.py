"""JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386) on plain documents.

Neither changes its input: what a patch touches is copied along its path, once, and everything else is shared with
the old document.  Patching one label of a pod copies three small dicts, not the pod.
"""

from __future__ import annotations

import copy
from typing import Any

import msgspec

# A patch of a few lines can double a document again and again by copying it into itself.
MAX_COPIED_BYTES = 3 << 20


class PatchError(ValueError):
    """The patch is well-formed but does not fit the document."""


class MalformedPatch(PatchError):
    """The patch is not a patch at all."""


def json_patch(document: Any, patch: Any, *, lenient: bool = False) -> Any:
    """The document after all operations of the patch; if one fails, none counts.

    `lenient` reads an absent member of an object as null, as Kubernetes does and the RFC does not: it may be
    replaced, copied and tested against null, and an operation's missing value is null too.
    """
    if not isinstance(patch, list):
        raise MalformedPatch("a JSON patch is a list of operations")
    draft = _Draft(document, lenient)
    for index, operation in enumerate(patch):
        if not isinstance(operation, dict):
            raise MalformedPatch(f"operation {index} of the patch is not an object")
        try:
            draft.apply(operation)
        except PatchError as error:
            raise PatchError(f"operation {index} of the patch: {error}") from None
        except RecursionError:
            raise PatchError(f"operation {index} of the patch: the document is nested too deeply") from None
    return draft.root


def merge_patch(document: Any, patch: Any) -> Any:
    """The document with the patch merged in: null removes, objects are merged, all else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = merge_patch(result.get(key), value)
        else:
            result[key] = value
    return result


def diff_merge(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The merge patch that makes `old` become `new`; empty if they are equal.

    A merge patch cannot set a member to null: a null in `new` is treated as absent.
    """
    patch: dict[str, Any] = {}
    for key in old:
        if old[key] is not None and new.get(key) is None:
            patch[key] = None
    for key, value in new.items():
        before = old.get(key)
        if value is None or same(before, value):
            continue
        if isinstance(value, dict) and isinstance(before, dict):
            if inner := diff_merge(before, value):
                patch[key] = inner
        else:
            patch[key] = value
    return patch


def same(one: Any, other: Any) -> bool:
    """Equality of JSON values: 1 equals 1.0, but unlike in Python true does not equal 1."""
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and len(one) == len(other)
            and all(key in other and same(value, other[key]) for key, value in one.items())
        )
    if isinstance(one, list):
        return (
            isinstance(other, list)
            and len(one) == len(other)
            and all(same(a, b) for a, b in zip(one, other, strict=True))
        )
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


_ABSENT = object()


class _Draft:
    """A document on its way through the operations.  `_own` holds the containers that are already copies."""

    def __init__(self, document: Any, lenient: bool) -> None:
        self.root = document
        self._lenient = lenient
        self._own: dict[int, Any] = {}
        self._copied = 0

    def apply(self, operation: dict[str, Any]) -> None:
        path = _pointer(operation, "path")
        match operation.get("op"):
            case "add":
                self._add(path, self._value(operation))
            case "remove":
                self._remove(path)
            case "replace":
                self._replace(path, self._value(operation))
            case "move":
                origin = _pointer(operation, "from")
                if path[: len(origin)] == origin and len(path) > len(origin):
                    raise PatchError(f"{_show(origin)} cannot be moved into itself")
                value = self._get(origin)
                if path != origin:
                    self._remove(origin)
                    self._add(path, value)
            case "copy":
                value = self._get(_pointer(operation, "from"), self._lenient)
                self._copied += len(msgspec.json.encode(value))
                if self._copied > MAX_COPIED_BYTES:
                    raise PatchError(f"the patch copies more than {MAX_COPIED_BYTES} bytes")
                # The two places must not change together when a later operation edits one of them.
                self._add(path, copy.deepcopy(value))
            case "test":
                if not same(self._get(path, self._lenient), self._value(operation)):
                    raise PatchError(f"the test of {_show(path)} failed")
            case other:
                raise PatchError(f"unknown operation {other!r}")

    def _value(self, operation: dict[str, Any]) -> Any:
        value = operation.get("value", _ABSENT)
        if value is not _ABSENT:
            return value
        if self._lenient:
            return None
        raise PatchError(f"{operation['op']} needs a value")

    def _get(self, path: list[str], absent_is_null: bool = False) -> Any:
        node = self.root
        for depth, step in enumerate(path):
            if isinstance(node, dict):
                if step not in node:
                    if absent_is_null and depth == len(path) - 1:
                        return None
                    raise PatchError(f"{_show(path[: depth + 1])} does not exist")
                node = node[step]
            elif isinstance(node, list):
                node = node[_index(path[: depth + 1], len(node) - 1)]
            else:
                raise PatchError(f"{_show(path[:depth])} is neither an object nor a list")
        return node

    def _parent(self, path: list[str]) -> Any:
        """The container that holds the last step of `path`, as a copy of our own."""
        self.root = node = self._owned(self.root)
        for depth, step in enumerate(path[:-1]):
            if isinstance(node, dict):
                if step not in node:
                    raise PatchError(f"{_show(path[: depth + 1])} does not exist")
                node[step] = node = self._owned(node[step])
            elif isinstance(node, list):
                at = _index(path[: depth + 1], len(node) - 1)
                node[at] = node = self._owned(node[at])
            else:
                break
        if not isinstance(node, dict | list):
            raise PatchError(f"{_show(path[:-1])} is neither an object nor a list")
        return node

    def _owned(self, node: Any) -> Any:
        if id(node) in self._own or not isinstance(node, dict | list):
            return node
        mine = node.copy()
        # Holding the copy also keeps its id from being given to another object.
        self._own[id(mine)] = mine
        return mine

    def _add(self, path: list[str], value: Any) -> None:
        if not path:
            self.root = value
            return
        parent = self._parent(path)
        if isinstance(parent, dict):
            parent[path[-1]] = value
        elif path[-1] == "-":
            parent.append(value)
        else:
            parent.insert(_index(path, len(parent)), value)

    def _remove(self, path: list[str]) -> None:
        if not path:
            raise PatchError("the whole document cannot be removed")
        parent = self._parent(path)
        if isinstance(parent, list):
            del parent[_index(path, len(parent) - 1)]
        elif path[-1] in parent:
            del parent[path[-1]]
        else:
            raise PatchError(f"{_show(path)} does not exist")

    def _replace(self, path: list[str], value: Any) -> None:
        if not path:
            self.root = value
            return
        parent = self._parent(path)
        if isinstance(parent, list):
            parent[_index(path, len(parent) - 1)] = value
        elif path[-1] in parent or self._lenient:
            parent[path[-1]] = value
        else:
            raise PatchError(f"{_show(path)} does not exist")


def _pointer(operation: dict[str, Any], member: str) -> list[str]:
    """The steps of a JSON pointer."""
    pointer = operation.get(member)
    if not isinstance(pointer, str):
        raise PatchError(f"{operation.get('op')!r} needs a {member}")
    if not pointer:
        return []
    if not pointer.startswith("/"):
        raise PatchError(f"{pointer!r} is not a JSON pointer: it must begin with '/'")
    steps = pointer[1:].split("/")
    if "~" in pointer:
        if any(rest[:1] not in ("0", "1") for rest in pointer.split("~")[1:]):
            raise PatchError(f"{pointer!r} is not a JSON pointer: '~' must be followed by 0 or 1")
        steps = [step.replace("~1", "/").replace("~0", "~") for step in steps]
    return steps


def _index(path: list[str], last: int) -> int:
    """The list index that the last step of `path` names, at most `last`."""
    step = path[-1]
    if not (step.isascii() and step.isdigit()) or (step[0] == "0" and step != "0"):
        raise PatchError(f"{_show(path)}: {step!r} is not an index of a list")
    if len(step) > 9 or int(step) > last:
        raise PatchError(f"{_show(path)} is beyond the end of the list")
    return int(step)


def _show(path: list[str]) -> str:
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path) or "the document"
