"""A profile: which actions run in which order, and which plugins they ask, in Volcano's configuration format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from podium.core.action import Action
from podium.core.actions import BUILT_IN as ACTIONS
from podium.core.plugin import Arguments, Plugin
from podium.core.plugins import BUILT_IN as PLUGINS
from podium.core.session import Enabled
from podium.errors import UsageError


class PluginEntry(msgspec.Struct, frozen=True):
    """One plugin of a tier, as configured."""

    kind: type[Plugin]
    switches: dict[str, bool]
    arguments: dict[str, Any]

    def make(self) -> Enabled:
        hierarchy = self.switches.get("enableHierarchy", False)
        return Enabled(self.kind(Arguments(self.arguments), hierarchy=hierarchy), self.switches)


class Profile(msgspec.Struct, frozen=True):
    """Actions, tiers of plugins, and the actions' arguments."""

    actions: tuple[Action, ...]
    tiers: tuple[tuple[PluginEntry, ...], ...]
    arguments: dict[str, Arguments] = {}

    def plugins(self) -> list[list[Enabled]]:
        """Fresh plugins for a cycle: they keep nothing from one to the next."""
        return [[entry.make() for entry in tier] for tier in self.tiers]


def read_profile(document: Mapping[str, Any], where: str = "the configuration") -> Profile:
    """A profile from a decoded configuration file.  UsageError says what is wrong and where."""
    names = [name.strip() for name in str(document.get("actions") or "").split(",") if name.strip()]
    actions = []
    for name in names:
        action = ACTIONS.get(name)
        if action is None:
            known = ", ".join(sorted(ACTIONS))
            raise UsageError(f"{where}: actions: there is no action {name!r}; there are {known}")
        actions.append(action())
    tiers = []
    for index, tier in enumerate(document.get("tiers") or ()):
        entries = _entries(tier.get("plugins") or (), f"{where}: tiers[{index}]")
        _check_tier(entries, f"{where}: tiers[{index}]")
        tiers.append(tuple(entries))
    arguments = {
        str(each["name"]): Arguments(each.get("arguments")) for each in document.get("configurations") or ()
    }
    return Profile(tuple(actions), tuple(tiers), arguments)


def _check_tier(entries: Sequence[PluginEntry], where: str) -> None:
    """Two plugins that share the cluster out by different trees would contradict each other."""
    names = {entry.kind.name for entry in entries}
    tree = any(entry.kind.name == "drf" and entry.switches.get("enableHierarchy", False) for entry in entries)
    if tree and "proportion" in names:
        raise UsageError(
            f"{where}: drf with enableHierarchy and proportion cannot be in one tier; drop one of them"
        )


def _entries(plugins: Sequence[Mapping[str, Any]], where: str) -> list[PluginEntry]:
    entries = []
    for index, each in enumerate(plugins):
        name = str(each.get("name", ""))
        kind = PLUGINS.get(name)
        if kind is None:
            known = ", ".join(sorted(PLUGINS))
            raise UsageError(f"{where}.plugins[{index}].name: there is no plugin {name!r}; there are {known}")
        switches = {key: bool(value) for key, value in each.items() if key.startswith("enable")}
        entries.append(PluginEntry(kind, switches, dict(each.get("arguments") or {})))
    return entries
