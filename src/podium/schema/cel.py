"""Rules in CEL (`x-kubernetes-validations`): compiled with their definition, asked of every object.

A rule sits on a node of a schema and is evaluated for every value there is of that node: once for an object, once
for each item of a list.  `self` is the value, `oldSelf` what it replaces; a rule that mentions `oldSelf` is only
asked on an update, where the two can be matched.

An expression that cannot be compiled is refused when the definition is written (`rule_problems`); what goes wrong
later is an ordinary complaint about the object.

Importing this takes a quarter of a second: import it only where there is a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cel_expr_python import cel

from podium.kube import fields
from podium.kube.fields import FieldError
from podium.schema.cel_programs import (
    CompileError,
    compile_expression,
    escape,
    mentions_old,
    to_cel,
    type_of,
    without_texts,
)
from podium.schema.model import Rule, Schema
from podium.schema.patches import same
from podium.schema.values import ABSENT, same_item

__all__ = ["check_rules", "mentions_old", "rule_problems"]

_CHAIN = re.compile(r"(?<![\w.])(?:self|oldSelf)((?:\s*\.\s*[A-Za-z_]\w*)+)(\s*\()?")


# --- asking ------------------------------------------------------------------------------------------------


def check_rules(document: Any, schema: Schema, path: str = "", old: Any = None) -> list[FieldError]:
    """The rules that a document breaks; `old` is what it replaces, if it replaces something."""
    return list(_walk(document, schema, path, ABSENT if old is None else old))


def _walk(value: Any, schema: Schema, path: str, old: Any) -> Iterator[FieldError]:
    if not schema.ruled or value is None:
        return
    unchanged = old is not ABSENT and same(value, old)
    seen = _Seen(value, old, schema)
    for rule in schema.rules:
        transition = mentions_old(rule.rule)
        if transition and not rule.optional_old_self and old is ABSENT:
            continue
        # What was once accepted stays accepted, also under a rule that came later.
        if unchanged and not transition:
            continue
        error = _ask(rule, seen, path)
        if error is not None:
            yield error
    if isinstance(value, dict):
        before = old if isinstance(old, dict) else {}
        members = schema.properties or {}
        for key, item in value.items():
            if key in members:
                yield from _walk(item, members[key], f"{path}.{key}" if path else key, before.get(key, ABSENT))
            elif schema.values is not None:
                yield from _walk(item, schema.values, f"{path}[{key}]", before.get(key, ABSENT))
    elif isinstance(value, list) and schema.items is not None:
        keys = schema.list_keys if schema.list_type == "map" else ()
        for index, item in enumerate(value):
            yield from _walk(item, schema.items, f"{path}[{index}]", same_item(old, item, keys))


class _Seen:
    """A value and what it replaces, and how CEL sees them: that is made once for all rules."""

    def __init__(self, value: Any, old: Any, schema: Schema) -> None:
        self.value = value
        self.schema = schema
        self._old = old
        self._new_in_cel = self._old_in_cel = ABSENT

    def data(self, rule: Rule) -> dict[str, Any]:
        if self._new_in_cel is ABSENT:
            self._new_in_cel = to_cel(self.value, self.schema)
        data = {"self": self._new_in_cel, "hasOldSelf": self._old is not ABSENT}
        if self._old is not ABSENT:
            if self._old_in_cel is ABSENT:
                self._old_in_cel = to_cel(self._old, self.schema)
            data["previousSelf" if rule.optional_old_self else "oldSelf"] = self._old_in_cel
        return data


def _ask(rule: Rule, seen: _Seen, path: str) -> FieldError | None:
    """The complaint, if the value breaks the rule."""
    value, schema = seen.value, seen.schema
    here = path or "<nil>"
    data = seen.data(rule)
    outcome = _evaluate(rule.rule, schema, rule.optional_old_self, data)
    if outcome is True:
        return None
    if outcome is not False:
        kind = schema.type or "object"
        detail = f'Invalid value: "{kind}": {outcome} evaluating rule: {rule.rule.strip()}'
        return FieldError(here, "FieldValueInvalid", detail)
    message = rule.message.strip() or f"failed rule: {rule.rule.strip()}"
    if rule.message_expression:
        reported = _evaluate(rule.message_expression, schema, rule.optional_old_self, data, wanted="string")
        if isinstance(reported, _Text) and reported.strip() and "\n" not in reported:
            message = reported.strip()
    if rule.field_path:
        here = f"{path}{rule.field_path}".lstrip(".").replace("['", "[").replace("']", "]")
    shown = "" if isinstance(value, dict | list) else f"{fields.show(value)}: "
    match rule.reason:
        case "FieldValueRequired":
            return fields.required(here, message)
        case "FieldValueForbidden":
            return fields.forbidden(here, message)
        case "FieldValueDuplicate":
            return FieldError(here, rule.reason, f"Duplicate value: {shown}".rstrip(": "))
    return FieldError(here, "FieldValueInvalid", f"Invalid value: {shown}{message}")


class _Text(str):
    """A text that an expression gave, as opposed to the text of its error."""

    __slots__ = ()


def _evaluate(text: str, schema: Schema, optional: bool, data: dict[str, Any], wanted: str = "bool") -> bool | str:
    """True, False or a `_Text`; a plain text is what went wrong."""
    try:
        result = compile_expression(text, type_of(schema), optional, wanted).eval(data=data)
    except (CompileError, RuntimeError, ValueError, TypeError, OverflowError) as error:
        return str(error)
    value = result.plain_value()
    if result.type() == cel.Type.ERROR:
        return _message(str(value))
    if wanted == "string":
        return _Text(value) if isinstance(value, str) else f"{value!r} is not a string"
    return value if isinstance(value, bool) else f"{value!r} is not a bool"


def _message(error: str) -> str:
    """An evaluation's error as a real server states it."""
    missing = re.search(r'Key not found in map : "?(.*?)"?$', error)
    if missing:
        return f"no such key: {missing[1]}"
    plain = re.sub(r"^[A-Z_]+: ", "", error)
    return "division by zero" if plain == "divide by zero" else plain


# --- compiling ---------------------------------------------------------------------------------------------


def rule_problems(rule: Rule, schema: Schema, path: str) -> Iterator[FieldError]:
    """Why a rule cannot stand on this node; `path` is that of the rule in its definition."""
    if not rule.rule.strip():
        yield fields.required(f"{path}.rule", "rule is not specified")
        return
    shown = {
        "Rule": rule.rule,
        "Message": rule.message,
        "MessageExpression": rule.message_expression,
        "Reason": None if rule.reason == "FieldValueInvalid" else rule.reason,
        "FieldPath": rule.field_path,
        "OptionalOldSelf": rule.optional_old_self or None,
    }
    for text, name, wanted in (
        (rule.rule, "rule", "bool"),
        (rule.message_expression, "messageExpression", "string"),
    ):
        if not text:
            continue
        try:
            compile_expression(text, type_of(schema), rule.optional_old_self, wanted)
            _check_fields(text, schema)
        except CompileError as error:
            yield fields.invalid(f"{path}.{name}", shown, str(error))
    if rule.optional_old_self and not mentions_old(rule.rule):
        yield fields.invalid(f"{path}.optionalOldSelf", True, "may not be set if oldSelf is not used in rule")


def _check_fields(text: str, schema: Schema) -> None:
    """Refuses a field that an object cannot have: `self.spec.replicsa`."""
    for chain in _CHAIN.finditer(without_texts(text)):
        node: Schema | None = schema
        steps = [step.strip() for step in chain[1].split(".")[1:]]
        if chain[2]:
            steps.pop()  # the last one is a function
        for step in steps:
            if node is None or node.properties is None or node.type != "object":
                break
            known = {escape(name): member for name, member in node.properties.items()}
            if step not in known and not (node.embedded and step in ("apiVersion", "kind", "metadata")):
                raise CompileError(
                    f"compilation failed: ERROR: <input>:1:{chain.start(1) + 1}: undefined field '{step}'"
                )
            node = known.get(step)
