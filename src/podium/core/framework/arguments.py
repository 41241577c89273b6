"""Arguments of plugins and actions: those that exist, declared as data, and what a file sets.

Each plugin and action lists its arguments once, with the default and a sentence.  From that list come the
defaults, the warning about a name that is not on it, and the table in the documentation.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec


class Argument(msgspec.Struct, frozen=True):
    """One argument.  A name may end in a placeholder: `binpack.resources.<name>`."""

    name: str
    default: float | bool | str
    about: str
    ignored: str = ""  # why it is read without effect

    def covers(self, name: str) -> bool:
        head, placeholder, _ = self.name.partition("<")
        return name == self.name or bool(placeholder and name.startswith(head) and name != head)


class Arguments:
    """Arguments as a configuration file gives them, with the declared defaults for the rest.

    Volcano 1.1 wrote all values as strings; both spellings are read.  A value that is not of its argument's kind
    counts as not given.
    """

    def __init__(self, values: Mapping[str, Any] | None = None, declared: Iterable[Argument] = ()) -> None:
        self.values = dict(values or {})
        self._declared = tuple(declared)

    def number(self, key: str) -> float:
        value = self.values.get(key)
        if value is not None and not isinstance(value, bool):
            try:
                return float(value)
            except (TypeError, ValueError):
                pass
        return float(self._default(key))

    def integer(self, key: str) -> int:
        return int(self.number(key))

    def flag(self, key: str) -> bool:
        value = self.values.get(key)
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in ("true", "false"):
            return value.lower() == "true"
        return bool(self._default(key))

    def text(self, key: str) -> str:
        value = self.values.get(key)
        return str(self._default(key) if value is None else value)

    def _default(self, key: str) -> float | bool | str:
        for argument in self._declared:
            if argument.covers(key):
                return argument.default
        raise KeyError(f"{key} is not among the declared arguments")

    def complaints(self) -> list[str]:
        """What was set without effect, each as `name: sentence`."""
        found = []
        for key in self.values:
            covering = next((each for each in self._declared if each.covers(key)), None)
            if covering is None:
                found.append(f"{key}: unknown argument{suggestion(key, (each.name for each in self._declared))}")
            elif covering.ignored:
                found.append(f"{key}: no effect, {covering.ignored}")
        return found


def suggestion(name: str, known: Iterable[str]) -> str:
    """What somebody may have meant by a name that is not known, to go behind the complaint."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f", did you mean {close[0]}" if close else ""
