"""Strategic merge patch: a merge patch that knows which lists are really maps.

The schema says of each list whether a patch merges into it, and by which field of its items (`merge_key`); lists
of plain values merge as sets; all other lists are replaced.  Directives in the patch say what a merge cannot:

    $patch: replace | delete          on an object, or on an item of a merged list
    $retainKeys: [a, b]               drops every other key of the object
    $deleteFromPrimitiveList/x: [..]  takes values out of the set x
    $setElementOrder/x: [..]          puts the items of x in this order

Like the other patches this one shares what it does not touch with the old document.  Fields that the schema does
not know are merged as a JSON merge patch would.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from podium.schema.model import Schema
from podium.schema.patches import PatchError

_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_DELETE = "$deleteFromPrimitiveList"
_ORDER = "$setElementOrder"

Map = dict[str, Any]
_UNKNOWN = Schema()


def strategic_merge(document: Map, patch: Map, schema: Schema) -> Map:
    """The document with the patch merged in; PatchError for a directive that makes no sense."""
    try:
        return _merge_maps(document, patch, schema)
    except RecursionError:
        raise PatchError("the patch is nested too deeply") from None


def _merge_maps(old: Map, patch: Map, schema: Schema) -> Map:
    if _DIRECTIVE in patch:
        match patch[_DIRECTIVE]:
            case "replace":
                return _map_content({key: value for key, value in patch.items() if key != _DIRECTIVE})
            case "delete":
                return {}
            case other:
                raise PatchError(f"unknown patch type: {other} in map: {_shown(patch)}")
    new = dict(old)
    if _RETAIN in patch:
        _retain(new, patch)
    ordered = _merge_ordered(new, patch, schema)
    for key, value in patch.items():
        if key == _RETAIN or key in ordered or key.startswith(_ORDER):
            continue
        if key.startswith(_DELETE):
            name = _target(key, "invalid patch format of primitive list")
            if isinstance(new.get(name), list):
                if not isinstance(value, list):
                    raise PatchError("invalid patch format of primitive list")
                new[name] = [item for item in new[name] if item not in value]
        elif value is None:
            new.pop(key, None)
        else:
            _merge_member(new, key, value, _member(schema, key))
    return new


def _merge_member(new: Map, key: str, value: Any, schema: Schema) -> None:
    old = new.get(key)
    if isinstance(value, dict) and isinstance(old, dict):
        replace = _strategy(schema) == "replace"
        new[key] = _map_content(value) if replace else _merge_maps(old, value, schema)
    elif isinstance(value, list) and isinstance(old, list):
        new[key] = _merge_lists(old, value, schema)
    elif isinstance(value, dict) and _DIRECTIVE in value:
        # There was nothing to replace or to delete, and the directive itself is no content.
        new.pop(key, None)
    else:
        new[key] = _content(value)


def _retain(new: Map, patch: Map) -> None:
    keys = patch[_RETAIN]
    if not isinstance(keys, list):
        raise PatchError("invalid patch format of retainKeys")
    for key, value in patch.items():
        if value is not None and key not in keys and not key.startswith((_RETAIN, _DELETE, _ORDER)):
            raise PatchError("invalid patch format of retainKeys")
    for key in [key for key in new if key not in keys]:
        del new[key]


# --- lists -------------------------------------------------------------------------------------------------


def _merge_lists(old: list[Any], patch: list[Any], schema: Schema) -> list[Any]:
    if _strategy(schema) != "merge":
        return _list_content(patch)
    if not _holds_maps([*old, *patch]):
        merged = list(dict.fromkeys([*old, *patch]))
        return _interleaved(merged, patch, old, "")
    key = schema.merge_key
    if not key:
        raise PatchError(f"cannot merge lists without merge key for {schema.name or 'this list'}")
    old, patch = _obey_directives(old, patch, key)
    merged = list(old)
    places = {_identity(item, key, required=False): place for place, item in reversed(list(enumerate(old)))}
    for item in patch:
        identity = _identity(item, key)
        if identity in places:
            place = places[identity]
            merged[place] = _merge_maps(merged[place], item, schema.items or _UNKNOWN)
        else:
            places[identity] = len(merged)
            merged.append(_content(item))
    return _interleaved(merged, patch, old, key)


def _obey_directives(old: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any]]:
    """Both lists after the items that are directives: what is left of the old one, and what is to be merged."""
    replace = False
    content = []
    for item in patch:
        if _DIRECTIVE not in item:
            content.append(item)
            continue
        match item[_DIRECTIVE]:
            case "delete":
                gone = _identity(item, key)
                old = [each for each in old if _identity(each, key, required=False) != gone]
            case "replace":
                replace = True
            case "merge":
                raise PatchError("merging lists cannot yet be specified in the patch")
            case other:
                raise PatchError(f"unknown patch type: {other} in map: {_shown(item)}")
    return (_list_content(content), []) if replace else (old, content)


def _merge_ordered(new: Map, patch: Map, schema: Schema) -> set[str]:
    """Handles every $setElementOrder together with the list it is about; returns the names of those lists."""
    done = set()
    for directive, order in patch.items():
        if not directive.startswith(_ORDER):
            continue
        name = _target(directive, "invalid patch format of setElementOrder list")
        old, wanted = new.get(name), patch.get(name)
        if not isinstance(order, list) or not isinstance(wanted or [], list) or not isinstance(old or [], list):
            raise PatchError("invalid patch format of setElementOrder list")
        field = _member(schema, name)
        key = field.merge_key
        if wanted:
            _check_order(wanted, order, key)
        if old is None and wanted is None:
            continue
        if wanted is None:
            merged = old
        elif old is None:
            merged = _list_content(wanted)
        else:
            merged = _merge_lists(old, wanted, field)
            old = _with_gaps_filled(old, merged, key)
        new[name] = _interleaved(merged or [], order, old or [], key)
        done.add(name)
    return done


def _with_gaps_filled(old: list[Any], merged: list[Any], key: str) -> list[Any]:
    """The old list as an API server remembers it when it puts the merged one in order.

    It deletes and appends in place: as many new items as old ones were deleted count as having stood at its end.
    """
    kept = _ranks(merged, key)
    left = [item for item in old if _identity(item, key, required=False) in kept]
    known = _ranks(left, key)
    added = [item for item in merged if _identity(item, key) not in known]
    return left + added[: len(old) - len(left)]


def _check_order(patch: list[Any], order: list[Any], key: str) -> None:
    """The items of the patch must stand in the order list, in the same order."""
    if not order:
        return
    rest = iter([_identity(item, key) for item in order])
    for item in patch:
        if isinstance(item, dict) and _DIRECTIVE in item:
            continue
        if _identity(item, key) not in rest:
            raise PatchError(
                f"The order in patch list: {_shown(patch)} doesn't match {_ORDER} list: {_shown(order)}"
            )


def _interleaved(items: list[Any], order: list[Any], old: list[Any], key: str) -> list[Any]:
    """Items named in `order` in that order, the others where they stood in `old` relative to them."""
    ranks = _ranks(order, key)
    places = _ranks(old, key)
    named = [item for item in items if _identity(item, key) in ranks]
    others = [item for item in items if _identity(item, key) not in ranks]
    named.sort(key=lambda item: ranks[_identity(item, key)])
    others.sort(key=lambda item: places.get(_identity(item, key), -1))
    result: list[Any] = []
    for item in named:
        here = places.get(_identity(item, key), -1)
        # Only where both stood in the old list is their old order known; else the named one goes first.
        while others and places.get(_identity(others[0], key), len(old)) < here:
            result.append(others.pop(0))
        result.append(item)
    return result + others


def _ranks(items: list[Any], key: str) -> dict[Any, int]:
    ranks: dict[Any, int] = {}
    for rank, item in enumerate(items):
        ranks.setdefault(_identity(item, key), rank)
    return ranks


def _identity(item: Any, key: str, *, required: bool = True) -> Any:
    """What makes an item of a merged list the same as another: its merge key's value, or the value itself."""
    value = item
    if key:
        if not isinstance(item, dict):
            raise PatchError(f"expected an object, but received {_shown(item)}")
        value = item.get(key)
        if value is None:
            if required:
                raise PatchError(f"map: {_shown(item)} does not contain declared merge key: {key}")
            return None
    if isinstance(value, dict | list):
        raise PatchError(f"{_shown(value)} cannot identify an item of a list")
    return value


def _holds_maps(items: list[Any]) -> bool:
    """Whether a list is one of objects; PatchError if it is a mixture or a list of lists."""
    if any(isinstance(item, list) for item in items):
        raise PatchError("lists of lists are not supported")
    kinds = {type(item) if isinstance(item, dict | str | bool) else float for item in items}
    if len(kinds) > 1:
        raise PatchError(f"list element types are not identical: {_shown(items)}")
    return kinds == {dict}


# --- small things ------------------------------------------------------------------------------------------


def _member(schema: Schema, key: str) -> Schema:
    """The schema of a member of an object, or that of a thing nothing is known about."""
    if schema.properties and key in schema.properties:
        return schema.properties[key]
    return schema.values or _UNKNOWN


def _strategy(schema: Schema) -> str:
    """merge, replace or nothing; retainKeys beside it only makes clients send the directive."""
    return next((each for each in schema.merge_strategy.split(",") if each != "retainKeys"), "")


def _target(directive: str, complaint: str) -> str:
    name = directive.partition("/")[2]
    if not name:
        raise PatchError(complaint)
    return name


def _content(value: Any) -> Any:
    """A value that is new in the document: without nulls and without directives."""
    if isinstance(value, dict):
        return _map_content(value)
    return _list_content(value) if isinstance(value, list) else value


def _map_content(value: Map) -> Map:
    return {
        key: _content(inner)
        for key, inner in value.items()
        if inner is not None and not _is_directive(key) and not _is_instruction(inner)
    }


def _list_content(value: list[Any]) -> list[Any]:
    return [_content(item) for item in value if not _is_instruction(item)]


def _is_directive(key: str) -> bool:
    return key == _RETAIN or key.startswith((f"{_DELETE}/", f"{_ORDER}/"))


def _is_instruction(value: Any) -> bool:
    return isinstance(value, dict) and _DIRECTIVE in value


def _shown(value: dict[str, Any] | Iterable[Any]) -> str:
    text = str(value)
    return text if len(text) <= 200 else f"{text[:200]}…"
