"""A profile: which actions run in which order, and which plugins they ask, in Volcano's configuration format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from podium.core.action import Action
from podium.core.actions import BUILT_IN as ACTIONS
from podium.core.plugin import Arguments, Plugin
from podium.core.plugins import BUILT_IN as PLUGINS
from podium.core.plugins.sla import duration
from podium.core.session import Enabled
from podium.errors import UsageError

# Names that a configuration of Volcano may hold: read, said to have no effect, and left out.
_LATER_ACTIONS = frozenset({"shuffle", "elect", "reserve"})
_LATER_PLUGINS = frozenset(
    {
        "cdp",
        "deviceshare",
        "extender",
        "network-topology-aware",
        "numa-aware",
        "rescheduling",
        "reservation",
        "resource-strategy-fit",
        "task-topology",
        "tdm",
        "usage",
    }
)


class PluginEntry(msgspec.Struct, frozen=True):
    """One plugin of a tier, as configured."""

    kind: type[Plugin]
    switches: dict[str, bool]
    arguments: dict[str, Any]

    def make(self) -> Enabled:
        hierarchy = self.switches.get("enableHierarchy", False)
        return Enabled(self.kind(Arguments(self.arguments), hierarchy=hierarchy), self.switches)


class Profile(msgspec.Struct, frozen=True):
    """Actions, tiers of plugins, the actions' arguments, and what was read without effect."""

    actions: tuple[Action, ...]
    tiers: tuple[tuple[PluginEntry, ...], ...]
    arguments: dict[str, Arguments] = {}
    warnings: tuple[str, ...] = ()

    def plugins(self) -> list[list[Enabled]]:
        """Fresh plugins for a cycle: they keep nothing from one to the next."""
        return [[entry.make() for entry in tier] for tier in self.tiers]


def read_profile(document: Mapping[str, Any], where: str = "the configuration") -> Profile:
    """A profile from a decoded configuration file.  UsageError says what is wrong and where."""
    warnings: list[str] = []
    actions = _actions(document.get("actions"), where, warnings)
    tiers = []
    for index, tier in enumerate(_list(document.get("tiers"), f"{where}: tiers")):
        place = f"{where}: tiers[{index}]"
        entries = _entries(_list(_table(tier, place).get("plugins"), f"{place}.plugins"), place, warnings)
        _check_tier(entries, place)
        tiers.append(tuple(entries))
    return Profile(tuple(actions), tuple(tiers), _arguments(document, where), tuple(warnings))


def _actions(told: object, where: str, warnings: list[str]) -> list[Action]:
    """The actions of a comma-separated list."""
    if told is not None and not isinstance(told, str):
        raise UsageError(f"{where}: actions: want names separated by commas, got {told!r}")
    actions = []
    for name in (part.strip() for part in (told or "").split(",")):
        if name in _LATER_ACTIONS:
            warnings.append(f"{where}: actions: {name} has no effect yet")
        elif name:
            action = ACTIONS.get(name)
            if action is None:
                known = ", ".join(sorted(ACTIONS))
                raise UsageError(f"{where}: actions: there is no action {name!r}; there are {known}")
            actions.append(action())
    return actions


def _arguments(document: Mapping[str, Any], where: str) -> dict[str, Arguments]:
    """The actions' arguments.  What the profile itself says holds for every action that does not say otherwise."""
    common = {"minRuntime": document["minRuntime"]} if "minRuntime" in document else {}
    if common and duration(str(common["minRuntime"])) is None:
        raise UsageError(f"{where}: minRuntime: want a duration such as 5m, got {common['minRuntime']!r}")
    arguments = {name: Arguments(common) for name in ACTIONS}
    for index, each in enumerate(_list(document.get("configurations"), f"{where}: configurations")):
        place = f"{where}: configurations[{index}]"
        table = _table(each, place)
        own = _table(table.get("arguments") or {}, f"{place}.arguments")
        arguments[str(table.get("name", ""))] = Arguments({**common, **own})
    return arguments


def _list(value: object, where: str) -> Sequence[Any]:
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise UsageError(f"{where}: want a list, got {value!r}")
    return value


def _table(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{where}: want a table of names and values, got {value!r}")
    return value


def _check_tier(entries: Sequence[PluginEntry], where: str) -> None:
    """Two plugins that share the cluster out by different trees would contradict each other."""
    names = {entry.kind.name for entry in entries}
    tree = any(entry.kind.name == "drf" and entry.switches.get("enableHierarchy", False) for entry in entries)
    if tree and "proportion" in names:
        raise UsageError(
            f"{where}: drf with enableHierarchy and proportion cannot be in one tier; drop one of them"
        )


def _entries(plugins: Sequence[Any], where: str, warnings: list[str]) -> list[PluginEntry]:
    entries = []
    for index, told in enumerate(plugins):
        place = f"{where}.plugins[{index}]"
        each = _table(told, place)
        name = str(each.get("name", ""))
        if name in _LATER_PLUGINS:
            warnings.append(f"{place}.name: {name} has no effect yet")
            continue
        kind = PLUGINS.get(name)
        if kind is None:
            known = ", ".join(sorted(PLUGINS))
            raise UsageError(f"{place}.name: there is no plugin {name!r}; there are {known}")
        switches = {
            key: _switch(value, f"{place}.{key}") for key, value in each.items() if key.startswith("enable")
        }
        arguments = _table(each.get("arguments") or {}, f"{place}.arguments")
        entries.append(PluginEntry(kind, switches, dict(arguments)))
    return entries


def _switch(value: object, where: str) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise UsageError(f"{where}: want true or false, got {value!r}")
    return value
