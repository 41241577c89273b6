"""Reading YAML of strangers: never more than the text is worth, and as JSON where Kubernetes reads it so.

YAML can do more than JSON.  A few hundred bytes of aliases stand for gigabytes, brackets in each other, a hundred
thousand of them, end the process in the parser's own recursion, and no JSON can say what a date or a set is.
So a text is first followed event by event, which takes no memory and no recursion, and is refused before anything
is built of it.  Of Kubernetes' objects then the values are made that `kubectl` makes of the same text.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import Any

import msgspec
import yaml

# How deep lists and objects may stand in each other.  Code that walks a document takes a few frames a level, of
# the thousand that Python has.
MAX_DEPTH = 200

# How many characters aliases may add to a text.
MAX_ADDED = 4 * 1024 * 1024

_PREFIX = "tag:yaml.org,2002:"
_INT = re.compile(r"^[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]+|[0-9][0-9_]*)$")
_FLOAT = re.compile(
    r"^(?:[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
)
_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")


class Unacceptable(yaml.MarkedYAMLError):
    """It is YAML, and is not taken: there is too much of it, or something that JSON cannot hold."""


class _Part(msgspec.Struct):
    """A list or object whose end is not there yet, or a part that has an anchor."""

    anchor: str | None
    mark: Any = None  # where it begins
    size: int = 0  # in characters, everything in it written out
    height: int = 0  # how many lists and objects stand in each other there


def check_budget(text: str | bytes) -> None:
    """Raises a MarkedYAMLError for a text that nests too deep, holds itself, or whose aliases add too much."""
    known: dict[str, _Part] = {}
    open_parts: list[_Part] = []
    added = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        kind = type(event)
        if kind is yaml.ScalarEvent:
            ended = _Part(event.anchor, size=len(event.value) + 1)
        elif kind is yaml.SequenceStartEvent or kind is yaml.MappingStartEvent:
            open_parts.append(_Part(event.anchor, event.start_mark))
            if len(open_parts) > MAX_DEPTH:
                raise _too_deep(event.start_mark)
            continue
        elif kind is yaml.SequenceEndEvent or kind is yaml.MappingEndEvent:
            ended = open_parts.pop()
            ended.size += 1
            ended.height += 1
        elif kind is yaml.AliasEvent:
            for part in open_parts:
                if part.anchor == event.anchor:
                    raise yaml.MarkedYAMLError(problem="this holds itself", problem_mark=part.mark)
            ended = known.get(event.anchor, _Part(None))
            added += ended.size
            if added > MAX_ADDED:
                reported = (
                    f"aliases add more than {MAX_ADDED >> 20} MiB: write out what they stand for, or use fewer"
                )
                raise Unacceptable(problem=reported, problem_mark=event.start_mark)
            if len(open_parts) + ended.height > MAX_DEPTH:
                raise _too_deep(event.start_mark)
        else:
            if kind is yaml.DocumentStartEvent:
                known.clear()
            continue
        if ended.anchor is not None:
            known[ended.anchor] = ended
        if open_parts:
            around = open_parts[-1]
            around.size += ended.size
            around.height = max(around.height, ended.height)


class JsonLoader(yaml.CSafeLoader):
    """Builds what JSON can hold: dates are text, keys are text, numbers are finite."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        if not isinstance(node, yaml.MappingNode):
            raise _wrong(node, "an object")
        self.flatten_mapping(node)
        return {
            _key(self.construct_object(key, deep=True), key): self.construct_object(value, deep=deep)
            for key, value in node.value
        }

    def bool_of(self, node: yaml.ScalarNode) -> bool:
        word = str(self.construct_scalar(node)).lower()
        if word not in _TRUE and word not in _FALSE:
            raise _wrong(node, "true or false")
        return word in _TRUE

    def int_of(self, node: yaml.ScalarNode) -> int | float | str:
        text = str(self.construct_scalar(node)).replace("_", "")
        sign, digits = (text[:1], text[1:]) if text[:1] in ("-", "+") else ("", text)
        octal = digits[:1] == "0" and digits.isdecimal() and len(digits) > 1
        try:
            number = int(sign + digits, 8 if octal else 0) if len(digits) < 100 else None
        except ValueError:
            number = None
        if number is not None and -(1 << 63) <= number < 1 << 64:
            return number
        return self.float_of(node)

    def float_of(self, node: yaml.ScalarNode) -> float | str:
        """A number; what looks like one and is too large for any is text."""
        text = str(self.construct_scalar(node))
        try:
            number = float(text.replace("_", ""))
        except ValueError:
            number = math.nan
        if math.isfinite(number):
            return number
        if text[-1:].isdecimal():
            return text
        raise _wrong(node, "a number that JSON can hold")

    def binary_of(self, node: yaml.ScalarNode) -> str:
        try:
            return base64.b64decode("".join(str(self.construct_scalar(node)).split()), validate=True).decode()
        except (binascii.Error, ValueError):
            raise _wrong(node, "the base64 form of a text") from None


# What a word is by its look; the characters are those that it may begin with.
_LOOKS: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("bool", "yYnNtTfFoO", re.compile(r"^(?i:yes|no|true|false|on|off)$")),
    ("null", "~nN", re.compile(r"^(?:~|null|Null|NULL)$")),
    ("merge", "<", re.compile(r"^<<$")),
    ("int", "-+0123456789", _INT),
    ("float", "-+0123456789.", _FLOAT),
)
# In place of PyYAML's own, among which are dates and sets.
JsonLoader.yaml_implicit_resolvers = {
    first: [(_PREFIX + tag, pattern) for tag, firsts, pattern in _LOOKS if first in firsts]
    for first in "".join(firsts for _, firsts, _ in _LOOKS)
} | {"": [(_PREFIX + "null", re.compile("^$"))]}
JsonLoader.yaml_constructors = {
    **{
        _PREFIX + tag: construct
        for tag, construct in (
            ("null", JsonLoader.construct_yaml_null),
            ("bool", JsonLoader.bool_of),
            ("int", JsonLoader.int_of),
            ("float", JsonLoader.float_of),
            ("str", JsonLoader.construct_yaml_str),
            ("timestamp", JsonLoader.construct_yaml_str),
            ("binary", JsonLoader.binary_of),
            ("seq", JsonLoader.construct_yaml_seq),
            ("map", JsonLoader.construct_yaml_map),
        )
    },
    None: JsonLoader.construct_undefined,
}


def load_all(text: str | bytes, loader: type[yaml.CSafeLoader] = JsonLoader) -> list[Any]:
    """Every document of a text.  YAMLError says what is wrong, nearly always with its place."""
    check_budget(text)
    return list(yaml.load_all(text, Loader=loader))


def load(text: str | bytes) -> Any:
    """The one document of a text; None if it is empty."""
    check_budget(text)
    return yaml.load(text, Loader=JsonLoader)


def doubled_keys(text: str | bytes) -> list[tuple[int, str]]:
    """Keys that stand a second time in their object, with their lines.  The text has been read before."""
    found: list[tuple[int, str]] = []
    waiting = list(yaml.compose_all(text, Loader=JsonLoader))
    known: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in known:
            continue  # by an alias
        known.add(id(node))
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode) and key.tag != _PREFIX + "merge":
                    if key.value in seen:
                        found.append((key.start_mark.line + 1, key.value))
                    seen.add(key.value)
                waiting.append(value)
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value
    return sorted(found)


def describe(error: yaml.YAMLError) -> tuple[str, int, int]:
    """What is wrong in one line of words; the line and column of it, from 1, or 0 if nobody knows."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split()), 0, 0
    mark = error.problem_mark or error.context_mark
    reported = " ".join(str(error.problem or error.context or "it cannot be read").split())
    return (reported, mark.line + 1, mark.column + 1) if mark is not None else (reported, 0, 0)


def _key(key: Any, node: yaml.Node) -> str:
    """A key as text: JSON has no other."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int | float):
        return msgspec.json.encode(key).decode()
    raise _wrong(node, "a key that JSON can hold")


def _wrong(node: yaml.Node, wanted: str) -> Unacceptable:
    mark: Any = node.start_mark  # of the C parser's own class
    return Unacceptable(problem=f"this is not {wanted}", problem_mark=mark)


def _too_deep(mark: Any) -> Unacceptable:
    reported = f"exceeded max depth: lists and objects stand in each other more than {MAX_DEPTH} deep"
    return Unacceptable(problem=reported, problem_mark=mark)
