"""YAML that users write, read so that whatever is wrong can be reported with its line and column."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import yaml

from podium.errors import UsageError
from podium.kube.yaml_loading import JsonLoader, Unacceptable, describe, load_all

# Steps of the paths in msgspec's complaints: `$.events[0].at`.
_STEP = re.compile(r"\.([A-Za-z_][\w-]*)|\[(\d+)\]")
_AT = re.compile(r" - at `(?:key in )?(\$[^`]*)`$")


class YamlText:
    """The documents of a text, and where everything stands in it."""

    def __init__(self, text: str, source: str, *, strict: bool = False, objects: bool = False) -> None:
        """UsageError if it is no YAML; `source` is what to call it.

        `strict`: no key may stand twice.  `objects`: they are Kubernetes' own, and read as kubectl does.
        """
        self._text, self.source = text, source
        try:
            loaded = load_all(text, JsonLoader if objects else _Strict if strict else yaml.CSafeLoader)
        except yaml.MarkedYAMLError as error:
            reported, line, column = describe(error)
            where = f", line {line}, column {column}" if line else ""
            judged = "" if isinstance(error, Unacceptable) else "it is not YAML: "
            raise UsageError(f"{source}{where}: {judged}{reported}") from None
        except yaml.reader.ReaderError as error:
            place = self._at(error.position)
            raise UsageError(f"{source}, {place}: it is not YAML: a character that is not allowed there") from None
        except (yaml.YAMLError, ValueError, KeyError, AttributeError, OverflowError) as error:
            # A value that its tag, or its look, promises and that it is not.
            reported = " ".join(str(error).split())
            raise UsageError(f"{source}, line 1, column 1: it is not YAML: {reported}") from None
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
        reported = str(error)
        found = _AT.search(reported)
        path = found.group(1) if found else "$"
        return self.error(path, reported[: found.start()] if found else reported, document)

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
                    reported = f"the key {key.value[:60]!r} stands there twice"
                    raise yaml.constructor.ConstructorError(None, None, reported, key.start_mark)
                seen.add(key.value)
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        return found


def _inner(node: yaml.Node, name: str, number: str) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode) and name:
        return next((value for key, value in node.value if getattr(key, "value", None) == name), None)
    if isinstance(node, yaml.SequenceNode) and number and int(number) < len(node.value):
        found: yaml.Node = node.value[int(number)]
        return found
    return None
