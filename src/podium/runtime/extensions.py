"""Plugins and actions of users: found by the entry points that installed packages declare.

    [project.entry-points."podium.plugins"]
    picky = "my_package.picky:Picky"

A package is imported when a profile names what it brings, so that one that is broken and not used disturbs nobody.
What cannot be used is a mistake of the configuration that asks for it: one sentence with the entry point.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from podium.core.framework.action import Action
from podium.core.framework.plugin import Plugin
from podium.core.profiles.registry import Registry, misfit
from podium.errors import UsageError

PLUGINS, ACTIONS = "podium.plugins", "podium.actions"


@cache
def installed() -> Extensions:
    """What is there besides the built-in plugins and actions; looked for once."""
    return Extensions()


class Extensions(Registry):
    """The built-in plugins and actions, and those of installed packages."""

    def __init__(self) -> None:
        self._own_plugins = _by_name(PLUGINS)
        self._own_actions = _by_name(ACTIONS)

    def plugin(self, name: str) -> type[Plugin] | None:
        points = self._own_plugins.get(name)
        if not points:
            return super().plugin(name)
        kind: type[Plugin] = _load(points, Plugin, taken=name in self.plugins)
        problem = misfit(kind)
        if problem is not None:
            raise UsageError(f"{_shown(points[0])} cannot be used: {problem}")
        return kind

    def action(self, name: str) -> type[Action] | None:
        points = self._own_actions.get(name)
        if not points:
            return super().action(name)
        kind: type[Action] = _load(points, Action, taken=name in self.actions)
        return kind

    @property
    def plugin_names(self) -> list[str]:
        return sorted({*super().plugin_names, *self._own_plugins})

    @property
    def action_names(self) -> list[str]:
        return sorted({*super().action_names, *self._own_actions})


def _by_name(group: str) -> dict[str, list[EntryPoint]]:
    found: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=group):
        found.setdefault(point.name, []).append(point)
    return found


def _load(points: list[EntryPoint], base: type[Any], *, taken: bool) -> Any:
    """The class behind an entry point, which must be derived from `base`."""
    first = points[0]
    if taken:
        raise UsageError(f"{_shown(first)} has the name of one of podium's own; rename it")
    if len(points) > 1:
        others = ", ".join(point.value for point in points)
        raise UsageError(
            f"entry point {first.group}: {first.name} is there twice ({others}); uninstall all but one"
        )
    try:
        found: Any = first.load()
    except Exception as error:  # whatever a package does when it is imported
        reported = " ".join(str(error).split())
        raise UsageError(f"{_shown(first)} cannot be loaded: {type(error).__name__}: {reported}") from error
    if not isinstance(found, type) or not issubclass(found, base):
        raise UsageError(f"{_shown(first)} is no {base.__module__}.{base.__name__}; derive its class from that")
    name = getattr(found, "name", "")
    if name != first.name:
        raise UsageError(f"{_shown(first)} has the name {name!r}; class and entry point must have the same")
    return found


def _shown(point: EntryPoint) -> str:
    return f"entry point {point.group}: {point.name} = {point.value}"
