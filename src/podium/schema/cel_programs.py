"""CEL expressions compiled against a schema, and values as such expressions see them.

Properties become identifiers by escaping (`a-b` is `a__dash__b`); timestamps, durations and bytes become CEL's
own, and numbers have the type that the schema says.  What is inside an object has no static type: a wrong type
there is found when the expression is evaluated.
"""

from __future__ import annotations

import base64
import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from cel_expr_python import cel
from cel_expr_python.ext import ext_bindings, ext_math, ext_optional, ext_strings

from podium.schema.cel_library import library
from podium.schema.model import Schema

_RESERVED = frozenset(
    (
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    )
)
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_escaped = re.compile(r"__|[./-]").sub
_is_name = re.compile(r"[a-zA-Z_./-][a-zA-Z0-9_./-]*").fullmatch
_LITERAL = re.compile(r"""[rR]?('''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")""", re.DOTALL)
_OLD = re.compile(r"\boldSelf\b")
_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class CompileError(ValueError):
    """An expression that is no expression, or one of the wrong type."""


# --- expressions -------------------------------------------------------------------------------------------


def mentions_old(rule: str) -> bool:
    """Whether a rule compares with what was: such a rule has nothing to say about a new object."""
    return bool(_OLD.search(without_texts(rule)))


@lru_cache(maxsize=1024)
def without_texts(expression: str) -> str:
    return _LITERAL.sub("''", expression)


@lru_cache(maxsize=2048)
def compile_expression(text: str, self_type: str, optional: bool, wanted: str) -> Any:
    """A compiled expression; CompileError with the compiler's own words if there is none."""
    wrapped = text
    if optional:
        present = "hasOldSelf ? optional.of(previousSelf) : optional.none()"
        wrapped = f"cel.bind(oldSelf, {present}, {text})"
    try:
        expression = _environment(self_type, optional).compile(wrapped)
    except RuntimeError as error:
        reported = re.sub(r"^[A-Z_]+: | \[[A-Z_]+\]$", "", str(error))
        raise CompileError(f"compilation failed: {reported}") from None
    result = expression.return_type()
    # What is inside an object has no static type here: whether it is a bool is seen when it is asked.
    if result not in (cel.Type.DYN, cel.Type.BOOL if wanted == "bool" else cel.Type.STRING):
        reported = (
            "cel expression must evaluate to a bool"
            if wanted == "bool"
            else "messageExpression must evaluate to a string"
        )
        raise CompileError(reported)
    return expression


@lru_cache(maxsize=256)
def _environment(self_type: str, optional: bool) -> Any:
    of_self = _cel_type(self_type)
    variables = {"self": of_self, "hasOldSelf": cel.Type.BOOL}
    variables["previousSelf" if optional else "oldSelf"] = of_self
    extensions = [
        ext_strings.ExtStrings(2),
        ext_optional.ExtOptional(),
        ext_bindings.ExtBindings(),
        ext_math.ExtMath(),
        library(),
    ]
    return cel.NewEnv(variables=variables, extensions=extensions)


def type_of(schema: Schema) -> str:
    """The CEL type of a node's values: a word, or `list(...)` and `map(...)` around one."""
    if schema.nullable or schema.int_or_string:
        return "dyn"
    match schema.type:
        case "string":
            timelike = {"date-time": "timestamp", "date": "timestamp", "duration": "duration"}
            return timelike.get(schema.format, "bytes" if schema.format in ("byte", "binary") else "string")
        case "integer":
            return "int"
        case "number":
            return "double"
        case "boolean":
            return "bool"
        case "array":
            return f"list({type_of(schema.items)})" if schema.items is not None else "list(dyn)"
        case "object":
            return f"map({type_of(schema.values)})" if schema.values is not None else "map(dyn)"
    return "dyn"


def _cel_type(name: str) -> Any:
    inner = name.partition("(")[2][:-1]
    if name.startswith("list("):
        return cel.Type.List(_cel_type(inner))
    if name.startswith("map("):
        return cel.Type.Map(cel.Type.STRING, _cel_type(inner))
    return getattr(cel.Type, name.upper())


# --- values ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def escape(name: str) -> str:
    """A property's name as an identifier of CEL; empty if it can have none."""
    if name in _RESERVED:
        return f"__{name}__"
    return _escaped(lambda found: _ESCAPES[found[0]], name) if _is_name(name) else ""


def to_cel(value: Any, schema: Schema) -> Any:
    """A value as CEL sees it: escaped names, and numbers, times and bytes of the type that the schema says."""
    if isinstance(value, dict):
        if schema.properties is not None:
            members = schema.properties
            return {
                name: to_cel(item, members.get(key, _ANY))
                for key, item in value.items()
                if (key in members or schema.embedded) and (name := escape(key))
            }
        return {key: to_cel(item, schema.values or _ANY) for key, item in value.items()}
    if isinstance(value, list):
        return [to_cel(item, schema.items or _ANY) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        if schema.type == "number":
            return float(value)
        return int(value) if schema.type == "integer" else value
    return _text_to_cel(value, schema) if schema.format else value


_ANY = Schema()


def _text_to_cel(text: str, schema: Schema) -> Any:
    match schema.format:
        case "date-time" | "date":
            return datetime.fromisoformat(text.upper() if schema.format == "date-time" else f"{text}T00:00:00Z")
        case "duration":
            seconds = sum(float(number) * _SECONDS[unit] for number, unit in _DURATION.findall(text))
            return timedelta(seconds=-seconds if text.startswith("-") else seconds)
        case "byte" | "binary":
            return base64.b64decode(text)
    return text
