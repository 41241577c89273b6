"""JSONPath as printer columns use it: from a document to the values that a path leads to.

What is understood: `.name`, `['name']`, `[0]`, `[-1]`, `[1:3]`, `[*]`, `.*`, `..name`, unions `['a','b']`, and
filters `[?(@.type=="Ready")]` with == != < <= > >= or, without an operator, presence.  A backslash keeps a dot
inside a name: `.metadata.annotations.acme\\.dev/owner`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

Step = Callable[[Any], Iterable[Any]]

_NAME = re.compile(r"(?:\\.|[^.\[\]\\'\"()@?*=<>!\s])+")
_SLICE = re.compile(r"(-?\d*):(-?\d*)(?::(-?\d+))?")
_QUOTED = re.compile(r"'((?:\\.|[^'\\])*)'|\"((?:\\.|[^\"\\])*)\"")
_COMPARISON = re.compile(r"(.+?)\s*(==|!=|<=|>=|<|>)\s*(.+)", re.DOTALL)
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


_LONGEST = 4096
_MANY = 1000


class PathError(ValueError):
    """A path that cannot be read, or one that compares what cannot be compared in this document."""


class Path:
    """A compiled path."""

    __slots__ = ("_steps", "text")

    def __init__(self, text: str, steps: tuple[Step, ...]) -> None:
        self.text = text
        self._steps = steps

    def find(self, document: Any) -> list[Any]:
        """All values the path leads to; none where a name on the way is missing."""
        found: list[Any] = [document]
        for step in self._steps:
            found = [value for each in found for value in step(each)]
            if len(found) > _MANY:  # by `..` one comes to the same part on many ways
                found = list({id(value): value for value in found}.values())
        return found

    def first(self, document: Any) -> Any:
        """The first value, or None; also None when the path cannot be applied to this document."""
        try:
            found = self.find(document)
        except (ValueError, TypeError, OverflowError, RecursionError):
            return None
        return found[0] if found else None


@lru_cache(maxsize=1024)
def compile_path(text: str) -> Path:
    """Reads a path like `.spec.replicas`; raises PathError with the place where it makes no sense."""
    if len(text) > _LONGEST:
        raise PathError(f"{text[:60]}...: a path of more than {_LONGEST} characters")
    steps: list[Step] = []
    at = 0
    while at < len(text):
        if text.startswith("..", at):
            steps.append(_descend)
            at += 1 if text[at + 2 : at + 3] != "[" else 2
        elif text.startswith(".*", at):
            steps.append(_every)
            at += 2
        elif text[at] == ".":
            match = _NAME.match(text, at + 1)
            if match is None:
                if at == len(text) - 1 and at == 0:  # the whole document
                    return Path(text, ())
                raise PathError(f"{text}: a name must follow the dot at position {at}")
            steps.append(_field(_unescape(match.group())))
            at = match.end()
        elif text[at] == "[":
            end = _closing(text, at)
            steps.append(_bracket(text[at + 1 : end].strip()))
            at = end + 1
        else:
            raise PathError(f"{text}: unexpected {text[at]!r} at position {at}")
    if not steps:
        raise PathError("an empty path leads nowhere")
    return Path(text, tuple(steps))


def _unescape(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _closing(text: str, start: int) -> int:
    """Where the bracket that opens at `start` is closed, outside quotes."""
    depth, at = 0, start
    while at < len(text):
        if text[at] in "'\"":
            quoted = _QUOTED.match(text, at)
            if quoted is None:
                break
            at = quoted.end()
            continue
        depth += {"[": 1, "]": -1}.get(text[at], 0)
        if not depth:
            return at
        at += 1
    raise PathError(f"{text}: the bracket at position {start} is not closed")


def _bracket(inside: str) -> Step:
    if inside == "*":
        return _every
    if inside.startswith("?(") and inside.endswith(")"):
        return _filter(inside[2:-1].strip())
    sliced = _SLICE.fullmatch(inside)
    if sliced:
        try:
            first, last, stride = (int(group) if group else None for group in sliced.groups())
        except ValueError:  # thousands of digits
            raise PathError(f"[{inside[:60]}] is no part of any list") from None
        if stride == 0:
            raise PathError(f"[{inside[:60]}] takes steps of 0")
        return lambda value: value[first:last:stride] if isinstance(value, list) else ()
    steps = [_index_or_name(choice.strip()) for choice in _split_union(inside)]
    if len(steps) == 1:
        return steps[0]
    return lambda value: [found for step in steps for found in step(value)]


def _split_union(inside: str) -> list[str]:
    """The comma-separated parts, with quoted ones kept whole."""
    return re.findall(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|[^,]+", inside) or [""]


def _index_or_name(text: str) -> Step:
    quoted = _QUOTED.fullmatch(text)
    if quoted:
        return _field(_unescape(quoted.group(1) if quoted.group(1) is not None else quoted.group(2)))
    try:
        return _index(int(text))
    except ValueError:
        raise PathError(f"[{text}] is neither an index nor a quoted name") from None


def _field(name: str) -> Step:
    return lambda value: (value[name],) if isinstance(value, dict) and name in value else ()


def _index(number: int) -> Step:
    def step(value: Any) -> Iterable[Any]:
        if isinstance(value, list) and -len(value) <= number < len(value):
            return (value[number],)
        return ()

    return step


def _every(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    return value if isinstance(value, list) else ()


def _descend(value: Any) -> Iterator[Any]:
    yield value
    for child in _every(value):
        yield from _descend(child)


def _filter(text: str) -> Step:
    comparison = _COMPARISON.fullmatch(text)
    if comparison is None:
        there = _operand(text)
        return lambda value: [each for each in _elements(value) if there(each)]
    left, right = _operand(comparison.group(1)), _operand(comparison.group(3))
    compare = _OPERATORS[comparison.group(2)]

    def step(value: Any) -> Iterator[Any]:
        for each in _elements(value):
            ours, theirs = left(each), right(each)
            if ours and theirs and _comparable(ours[0], theirs[0]) and compare(ours[0], theirs[0]):
                yield each

    return step


def _elements(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _comparable(left: Any, right: Any) -> bool:
    """Values of one type; anything else spoils the whole path rather than one element, as on a real server."""
    if type(left) is not type(right) or not isinstance(left, bool | int | float | str):
        raise PathError("only texts, numbers and booleans of the same type can be compared")
    return True


def _operand(text: str) -> Callable[[Any], list[Any]]:
    """One side of a comparison: a path from the element, or a literal."""
    if text.startswith("@"):
        if text == "@":
            return lambda element: [element]
        return compile_path(text[1:]).find
    quoted = _QUOTED.fullmatch(text)
    literal: Any
    if quoted:
        literal = _unescape(quoted.group(1) if quoted.group(1) is not None else quoted.group(2))
    else:
        try:
            literal = msgspec.json.decode(text)
        except msgspec.DecodeError:
            raise PathError(f"{text} is neither a path from @, a quoted text nor a number") from None
    return lambda element: [literal]
