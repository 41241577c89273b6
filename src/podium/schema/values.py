"""Whether the values of a custom resource are ones its schema allows, with the API server's messages.

Values are checked as they stand: pruning and defaulting come before.  Rules in CEL come after everything else, on
a document that is otherwise right, since an expression may rely on it.

On an update a value that did not change is not checked again.  A schema can become stricter after objects were
stored; without this nobody could even remove a finalizer from an object that no longer fits.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

import msgspec
import re2

from podium.kube import fields
from podium.kube.fields import FieldError
from podium.schema.formats import FORMATS
from podium.schema.model import Schema
from podium.schema.patches import same

ABSENT: Any = msgspec.UNSET

_JSON_TYPES = {bool: "boolean", str: "string", int: "integer", float: "number", list: "array", dict: "object"}
# An object with these is too broken for expressions to be asked about it.
_MISTYPED = "FieldValueTypeInvalid"
_BLOCKING = frozenset(("FieldValueRequired", _MISTYPED, "FieldValueTooLong", "FieldValueTooMany"))


def validate(document: Any, schema: Schema, path: str = "", old: Any = None) -> list[FieldError]:
    """Everything that is wrong with the document; `old` is what it replaces, if it replaces something."""
    errors: list[FieldError] = []
    _check(document, schema, path, ABSENT if old is None else old, errors)
    if schema.ruled:
        if any(error.reason in _BLOCKING for error in errors):
            detail = (
                "some validation rules were not checked because the object was invalid; "
                "correct the existing errors to complete validation"
            )
            errors.append(FieldError("<nil>", "FieldValueInvalid", f"Invalid value: null: {detail}"))
        else:
            # Expressions are rare, and the library behind them takes long to import.
            from podium.schema import cel

            errors += cel.check_rules(document, schema, path, old)
    return errors


def is_mistyped(document: Any, schema: Schema) -> bool:
    """Whether some value has not the type of its field, so that nobody can rely on the document's shape."""
    errors: list[FieldError] = []
    _check(document, schema, "", ABSENT, errors)
    return tells_mistyped(errors)


def tells_mistyped(errors: list[FieldError]) -> bool:
    """Whether one of the errors is about a value's type."""
    return any(error.reason == _MISTYPED for error in errors)


def same_item(old: Any, item: Any, keys: tuple[str, ...]) -> Any:
    """The item of a keyed list that `item` replaces, or ABSENT."""
    if isinstance(old, list) and isinstance(item, dict) and keys:
        wanted = [item.get(key) for key in keys]
        for each in old:
            if isinstance(each, dict) and [each.get(key) for key in keys] == wanted:
                return each
    return ABSENT


# --- one value ---------------------------------------------------------------------------------------------


def _check(value: Any, schema: Schema, path: str, old: Any, errors: list[FieldError]) -> None:
    if old is not ABSENT and path and same(value, old):
        return
    if value is None and schema.nullable:
        return
    if (wanted := _expected_type(schema)) and not _is_of_type(value, wanted):
        given = _json_type(value)
        detail = f'Invalid value: "{given}": {_place(path)} must be of type {wanted}: "{given}"'
        errors.append(FieldError(path or "<nil>", _MISTYPED, detail))
        if schema.enum:
            _check_enum(value, schema, path, errors)
        return
    if schema.enum:
        _check_enum(value, schema, path, errors)
    if isinstance(value, str):
        _check_text(value, schema, path, errors)
    elif isinstance(value, bool):
        pass
    elif isinstance(value, int | float):
        _check_number(value, schema, path, errors)
    elif isinstance(value, list):
        _check_list(value, schema, path, old, errors)
    elif isinstance(value, dict):
        _check_object(value, schema, path, old, errors)
    if schema.all_of or schema.any_of or schema.one_of or schema.negated is not None:
        _check_alternatives(value, schema, path, errors)


def _expected_type(schema: Schema) -> str:
    return "integer,string" if schema.int_or_string else schema.type


def _is_of_type(value: Any, wanted: str) -> bool:
    given = _json_type(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        given = "integer"
    return given in wanted.split(",") or (given == "integer" and wanted == "number")


def _json_type(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
        return "number"
    return "null" if value is None else _JSON_TYPES[type(value)]


def _check_enum(value: Any, schema: Schema, path: str, errors: list[FieldError]) -> None:
    if not any(same(value, each) for each in schema.enum):
        known = ", ".join(
            f'"{each}"' if isinstance(each, str) else f'"{fields.show(each)}"' for each in schema.enum
        )
        detail = f"Unsupported value: {fields.show(value)}: supported values: {known}"
        errors.append(FieldError(path, "FieldValueNotSupported", detail))


def _check_text(value: str, schema: Schema, path: str, errors: list[FieldError]) -> None:
    if schema.max_length is not None and len(value) > schema.max_length:
        errors.append(fields.too_long(path, schema.max_length))
    if schema.min_length is not None and len(value) < schema.min_length:
        detail = f"{_place(path)} should be at least {schema.min_length} chars long"
        errors.append(fields.invalid(path, value, detail))
    if schema.pattern and not compiled_pattern(schema.pattern).search(value):
        errors.append(fields.invalid(path, value, f"{_place(path)} should match '{schema.pattern}'"))
    check = FORMATS.get(schema.format) if schema.format else None
    if check is not None and not check(value):
        shown = fields.show(value)
        detail = f"{_place(path)} must be of type {schema.format}: {shown}"
        errors.append(fields.wrong_type(path, value, detail))


@lru_cache(maxsize=1024)
def compiled_pattern(pattern: str) -> Any:
    """RE2, as on a real server: its own syntax, and linear in the text whatever the pattern."""
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def _check_number(value: float, schema: Schema, path: str, errors: list[FieldError]) -> None:
    if schema.format in ("int32", "int64"):
        bits = 31 if schema.format == "int32" else 63
        if not -(1 << bits) <= value < 1 << bits:
            detail = f"Checked value must be of type {schema.type} with format {schema.format} in {path}"
            errors.append(FieldError("<nil>", "FieldValueInvalid", f'Invalid value: "": {detail}'))
    low, high, step = schema.minimum, schema.maximum, schema.multiple_of
    reported = ""
    if low is not None and (value <= low if schema.exclusive_minimum else value < low):
        reported = f"greater than {'' if schema.exclusive_minimum else 'or equal to '}{_number(low)}"
    elif high is not None and (value >= high if schema.exclusive_maximum else value > high):
        reported = f"less than {'' if schema.exclusive_maximum else 'or equal to '}{_number(high)}"
    elif step and Fraction(str(value)) % Fraction(str(step)):
        reported = f"a multiple of {_number(step)}"
    if reported:
        errors.append(fields.invalid(path, value, f"{_place(path)} should be {reported}"))


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


# --- lists and objects -------------------------------------------------------------------------------------


def _check_list(value: list[Any], schema: Schema, path: str, old: Any, errors: list[FieldError]) -> None:
    if schema.max_items is not None and len(value) > schema.max_items:
        # Its items are not looked at: there may be very many of them.
        errors.append(fields.too_many(path, len(value), schema.max_items))
        return
    if schema.min_items is not None and len(value) < schema.min_items:
        detail = f"{_place(path)} should have at least {schema.min_items} items"
        errors.append(fields.invalid(path, len(value), detail))
    keys = schema.list_keys if schema.list_type == "map" else ()
    if schema.items is not None:
        for index, item in enumerate(value):
            before = same_item(old, item, keys)
            _check(item, schema.items, f"{path}[{index}]", before, errors)
    if schema.list_type == "set" or schema.unique_items:
        _check_duplicates(value, path, errors)
    elif keys:
        identities = [
            {key: item[key] for key in sorted(keys) if key in item} for item in value if isinstance(item, dict)
        ]
        _check_duplicates(identities, path, errors)


def _check_duplicates(values: list[Any], path: str, errors: list[FieldError]) -> None:
    seen: set[bytes] = set()
    for index, value in enumerate(values):
        encoded = msgspec.json.encode(value, order="sorted")
        if encoded in seen:
            errors.append(fields.duplicate(f"{path}[{index}]", value))
        seen.add(encoded)


def _check_object(value: dict[str, Any], schema: Schema, path: str, old: Any, errors: list[FieldError]) -> None:
    if schema.max_properties is not None and len(value) > schema.max_properties:
        errors.append(fields.too_many(path, len(value), schema.max_properties))
        return
    if schema.min_properties is not None and len(value) < schema.min_properties:
        detail = f"{_place(path)} should have at least {schema.min_properties} properties"
        errors.append(fields.invalid(path, len(value), detail))
    needed = [*schema.required, "apiVersion", "kind"] if schema.embedded else schema.required
    for key in needed:
        if key not in value:
            errors.append(fields.required(_join(path, key)))
    members = schema.properties or {}
    before = old if isinstance(old, dict) else {}
    for key, item in value.items():
        inner = members.get(key, schema.values)
        if inner is not None:
            _check(item, inner, _join(path, key), before.get(key, ABSENT), errors)


def _check_alternatives(value: Any, schema: Schema, path: str, errors: list[FieldError]) -> None:
    def complain(detail: str) -> None:
        errors.append(FieldError("<nil>", "FieldValueInvalid", f'Invalid value: "": "{path}" must {detail}'))

    def problems(alternative: Schema) -> list[FieldError]:
        found: list[FieldError] = []
        _check(value, alternative, path, ABSENT, found)
        return found

    if schema.all_of:
        found = [error for each in schema.all_of for error in problems(each)]
        if found:
            errors += found
            complain("validate all the schemas (allOf)")
    if schema.any_of:
        tried = [problems(each) for each in schema.any_of]
        if all(tried):
            complain("validate at least one schema (anyOf)")
            errors += _shortest(tried)
    if schema.one_of:
        tried = [problems(each) for each in schema.one_of]
        valid = sum(not found for found in tried)
        if valid == 0:
            complain("validate one and only one schema (oneOf). Found none valid")
            errors += _shortest(tried)
        elif valid > 1:
            complain(f"validate one and only one schema (oneOf). Found {valid} valid alternatives")
    if schema.negated is not None and not problems(schema.negated):
        complain("not validate the schema (not)")


def _shortest(tried: list[list[FieldError]]) -> list[FieldError]:
    """The alternative that came closest; the first of several."""
    return min(tried, key=lambda found: len(found))


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _place(path: str) -> str:
    return f"{path} in body"
