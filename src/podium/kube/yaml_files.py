"""YAML that users write, read so that whatever is wrong can be told with its line and column."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import yaml

from podium.errors import UsageError

# Steps of the paths in msgspec's complaints: `$.events[0].at`.
_STEP = re.compile(r"\.([A-Za-z_][\w-]*)|\[(\d+)\]")
_AT = re.compile(r" - at `(?:key in )?(\$[^`]*)`$")


class YamlText:
    """The documents of a text, and where everything stands in it."""

    def __init__(self, text: str, source: str, *, strict: bool = False) -> None:
        """UsageError if it is no YAML; `source` is what to call it.  `strict`: no key may stand twice."""
        self._text, self.source = text, source
        try:
            loaded = list(yaml.load_all(text, Loader=_Strict if strict else yaml.CSafeLoader))
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            where = f", line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
            told = " ".join(str(error.problem or error.context or "it cannot be read").split())
            raise UsageError(f"{source}{where}: it is not YAML: {told}") from None
        except yaml.reader.ReaderError as error:
            place = self._at(error.position)
            raise UsageError(f"{source}, {place}: it is not YAML: a character that is not allowed there") from None
        except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
            told = " ".join(str(error).split())
            raise UsageError(f"{source}, line 1, column 1: it is not YAML: {told}") from None
        if any(map(_holds_itself, loaded)):
            raise UsageError(f"{source}, {self._knot()}: it is not YAML: this holds itself")
        self.documents: list[Any] = [each for each in loaded if each is not None]
        self._numbers = [number for number, each in enumerate(loaded) if each is not None]

    def place(self, path: str, document: int = 0) -> str:
        """Where a path such as `$.events[0].at` leads, as far as it leads anywhere: `line 3, column 7`."""
        if not self.documents:
            return "line 1, column 1"
        nodes = list(yaml.compose_all(self._text, Loader=yaml.CSafeLoader))
        node = nodes[self._numbers[document]]
        for name, number in _STEP.findall(path):
            inner = _inner(node, name, number)
            if inner is None:
                break
            node = inner
        mark = node.start_mark
        return f"line {mark.line + 1}, column {mark.column + 1}"

    def error(self, path: str, complaint: str, document: int = 0) -> UsageError:
        """What is wrong with what stands at a path."""
        inside = path.removeprefix("$").removeprefix(".")
        what = f"{inside}: " if inside else ""
        return UsageError(f"{self.source}, {self.place(path, document)}: {what}{complaint}")

    def invalid(self, error: msgspec.ValidationError, document: int = 0) -> UsageError:
        """The same from msgspec's complaint, which names the path at its end."""
        told = str(error)
        found = _AT.search(told)
        path = found.group(1) if found else "$"
        return self.error(path, told[: found.start()] if found else told, document)

    def _knot(self) -> str:
        """Where something begins that holds itself."""
        for node in yaml.compose_all(self._text, Loader=yaml.CSafeLoader):
            found = _holds_itself(node)
            if isinstance(found, yaml.Node):
                return f"line {found.start_mark.line + 1}, column {found.start_mark.column + 1}"
        return "line 1, column 1"

    def _at(self, position: int) -> str:
        before = self._text[:position]
        return f"line {before.count(chr(10)) + 1}, column {position - before.rfind(chr(10))}"


class _Strict(yaml.CSafeLoader):
    """A key that stands twice is a mistake: the first would be lost without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                if key.value in seen:
                    told = f"the key {key.value[:60]!r} stands there twice"
                    raise yaml.constructor.ConstructorError(None, None, told, key.start_mark)
                seen.add(key.value)
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        return found


def _holds_itself(whole: object) -> object:
    """A part of a document, or of its nodes, that stands inside itself, by an anchor; None if there is none."""
    done: set[int] = set()
    path: set[int] = set()
    stack: list[tuple[object, bool]] = [(whole, False)]
    while stack:
        value, leaving = stack.pop()
        if leaving:
            path.discard(id(value))
            done.add(id(value))
            continue
        children = _parts(value)
        if not children or id(value) in done:
            continue
        if id(value) in path:
            return value
        path.add(id(value))
        stack.append((value, True))
        stack += [(child, False) for child in children]
    return None


def _parts(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list):
        return value
    if isinstance(value, yaml.MappingNode):
        return [each for _, each in value.value]
    return value.value if isinstance(value, yaml.SequenceNode) else []


def _inner(node: yaml.Node, name: str, number: str) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode) and name:
        return next((value for key, value in node.value if getattr(key, "value", None) == name), None)
    if isinstance(node, yaml.SequenceNode) and number and int(number) < len(node.value):
        found: yaml.Node = node.value[int(number)]
        return found
    return None
