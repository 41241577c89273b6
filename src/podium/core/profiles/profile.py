"""A profile: which actions run in which order, and which plugins they ask, in Volcano's configuration format."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from podium.core.framework.action import Action
from podium.core.framework.arguments import Arguments, suggestion
from podium.core.framework.framework import EnabledPlugin
from podium.core.framework.hooks import HIERARCHY, SWITCHES
from podium.core.framework.plugin import Plugin
from podium.core.model.durations import duration
from podium.core.profiles.registry import Registry
from podium.errors import UsageError

# Names that a configuration of Volcano may hold: read, said to have no effect, and left out.
_LATER_KEYS = frozenset({"metrics"})
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
# What a profile and a tier may say.
_KEYS = ("actions", "tiers", "configurations", "minRuntime", "period", "quotaGate")
_TIER_KEYS = ("plugins",)
_ACTION_KEYS = ("name", "arguments")


class PluginEntry(msgspec.Struct, frozen=True):
    """One plugin of a tier, as configured."""

    kind: type[Plugin]
    switches: dict[str, bool]
    arguments: dict[str, Any]

    def make(self) -> EnabledPlugin:
        hierarchy = self.switches.get(HIERARCHY, False)
        arguments = Arguments(self.arguments, self.kind.ARGUMENTS)
        return EnabledPlugin(self.kind(arguments, hierarchy=hierarchy), self.switches)


class Profile(msgspec.Struct, frozen=True):
    """Actions, tiers of plugins, the actions' arguments, and what was read without effect."""

    actions: tuple[Action, ...]
    tiers: tuple[tuple[PluginEntry, ...], ...]
    arguments: dict[str, Arguments] = {}
    warnings: tuple[str, ...] = ()
    period: float = 0.0  # seconds between two turns, at least; what comes up meanwhile is looked at together
    quota_gate: bool = False  # new tasks start behind a gate that their queue lifts: see `gates`
    options: Mapping[str, Any] = {}  # what the file says beside these, for the dialect whose profile it is

    @property
    def peaceful(self) -> bool:
        """Whether none of its actions takes from others: to its gangs, room is all that counts."""
        return all(action.PEACEFUL for action in self.actions)

    @property
    def plain_order(self) -> bool:
        """Whether gangs of one queue and namespace, of which nothing runs, go by priority and then by age."""
        return all(entry.kind.orders_plainly() for tier in self.tiers for entry in tier)

    def argument(self, name: str) -> float | None:
        """The number that an argument of one of its plugins is set to; None if none has such an argument."""
        for entry in (entry for tier in self.tiers for entry in tier):
            if any(each.name == name for each in entry.kind.ARGUMENTS):
                return Arguments(entry.arguments, entry.kind.ARGUMENTS).number(name)
        return None

    def plugins(self) -> list[list[EnabledPlugin]]:
        """Fresh plugins for a cycle: they keep nothing from one to the next."""
        return [[entry.make() for entry in tier] for tier in self.tiers]


def read_profile(
    document: Mapping[str, Any],
    where: str = "the configuration",
    registry: Registry | None = None,
    options: Iterable[str] = (),
) -> Profile:
    """A profile from a decoded configuration file.  UsageError says what is wrong and where.

    `options` are further keys that the file might have had: somebody has read and removed them.
    """
    return _Reader(where, registry or Registry(), tuple(options)).read(document)


class _Reader:
    """Reads one profile, and collects what stands in it without effect."""

    def __init__(self, where: str, registry: Registry, options: Sequence[str]) -> None:
        self._where = where
        self._registry = registry
        self._keys = (*_KEYS, *_LATER_KEYS, *options)
        self._warnings: list[str] = []
        self._switches = set(SWITCHES)

    def read(self, document: Mapping[str, Any]) -> Profile:
        for key in sorted(_LATER_KEYS & document.keys()):
            self._warn(f"{self._where}: ", f"{key} has no effect yet")
        self._check_keys(document, self._keys, self._where)
        actions = self._actions(document.get("actions"))
        self._switches |= {hook.switch for action in actions for hook in action.HOOKS if hook.switch}
        tiers = []
        for index, tier in enumerate(_list(document.get("tiers"), f"{self._where}: tiers")):
            place = f"{self._where}: tiers[{index}]"
            self._check_keys(_table(tier, place), _TIER_KEYS, place)
            plugins = _list(tier.get("plugins"), f"{place}.plugins")
            found = (
                self._entry(reported, f"{place}.plugins[{number}]") for number, reported in enumerate(plugins)
            )
            entries = tuple(entry for entry in found if entry is not None)
            self._check_tier(entries, place)
            tiers.append(entries)
        arguments = self._arguments(document, actions)
        gate = _switch(document.get("quotaGate", False), f"{self._where}: quotaGate")
        period = self._period(document.get("period", 0))
        return Profile(tuple(actions), tuple(tiers), arguments, tuple(self._warnings), period, gate)

    def _period(self, reported: object) -> float:
        seconds = duration(reported) if isinstance(reported, str) else reported
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
            raise UsageError(f"{self._where}: period: want a duration such as 5s, got {reported!r}")
        return float(seconds)

    def _check_keys(self, table: Mapping[str, Any], known: Sequence[str], place: str) -> None:
        """A key that nobody reads is a mistake: what it says would have no effect, without a word."""
        for key in table:
            if key not in known:
                meant = (
                    suggestion(str(key), known)
                    or f"; there {'are' if len(known) > 1 else 'is'} {', '.join(known)}"
                )
                raise UsageError(f"{place}: unknown key {key!r}{meant}")

    def _warn(self, place: str, complaint: str) -> None:
        self._warnings.append(f"{place}{complaint}")

    def _actions(self, reported: object) -> list[Action]:
        """The actions of a comma-separated list."""
        place = f"{self._where}: actions: "
        if reported is not None and not isinstance(reported, str):
            raise UsageError(f"{place}want names separated by commas, got {reported!r}")
        actions = []
        for name in (part.strip() for part in (reported or "").split(",")):
            action = self._registry.action(name) if name else None
            if action is not None:
                actions.append(action())
            elif name in _LATER_ACTIONS:
                self._warn(place, f"{name} has no effect yet")
            elif name:
                known = ", ".join(self._registry.action_names)
                raise UsageError(f"{place}there is no action {name!r}; there are {known}")
        return actions

    def _entry(self, reported: object, place: str) -> PluginEntry | None:
        table = _table(reported, place)
        name = str(table.get("name", ""))
        kind = self._registry.plugin(name)
        if kind is None and name in _LATER_PLUGINS:
            self._warn(place, f".name: {name} has no effect yet")
            return None
        if kind is None:
            known = ", ".join(self._registry.plugin_names)
            raise UsageError(f"{place}.name: there is no plugin {name!r}; there are {known}")
        switches: dict[str, bool] = {}
        for key, value in table.items():
            if key in self._switches:
                switches[key] = _switch(value, f"{place}.{key}")
            elif key not in ("name", "arguments"):
                self._warn(
                    place, f".{key}: unknown switch{suggestion(str(key), {*self._switches, *_ACTION_KEYS})}"
                )
        arguments = dict(_table(table.get("arguments") or {}, f"{place}.arguments"))
        for complaint in Arguments(arguments, kind.ARGUMENTS).complaints():
            self._warn(place, f".arguments: {complaint}")
        return PluginEntry(kind, switches, arguments)

    def _check_tier(self, entries: Sequence[PluginEntry], place: str) -> None:
        """Two plugins that share the cluster out by different trees: both have a say, so the order matters."""
        tree = [each.kind.name for each in entries if each.kind.ORDERS_TREE and each.switches.get(HIERARCHY)]
        flat = [each.kind.name for each in entries if each.kind.ORDERS_FLAT]
        if tree and flat:
            first = next(each.kind.name for each in entries if each.kind.name in (tree[0], flat[0]))
            self._warn(
                place,
                f": {tree[0]} with {HIERARCHY} and {flat[0]} both order queues; {first}, which is first, decides. "
                "Volcano refuses such a file",
            )

    def _arguments(self, document: Mapping[str, Any], actions: Sequence[Action]) -> dict[str, Arguments]:
        """The actions' arguments.  What the profile itself says holds for each that does not say otherwise."""
        common = {"minRuntime": document["minRuntime"]} if "minRuntime" in document else {}
        if common and duration(str(common["minRuntime"])) is None:
            raise UsageError(
                f"{self._where}: minRuntime: want a duration such as 5m, got {common['minRuntime']!r}"
            )
        arguments = {action.name: Arguments(common, action.ARGUMENTS) for action in actions}
        for index, each in enumerate(_list(document.get("configurations"), f"{self._where}: configurations")):
            place = f"{self._where}: configurations[{index}]"
            table = _table(each, place)
            self._check_keys(table, _ACTION_KEYS, place)
            own = dict(_table(table.get("arguments") or {}, f"{place}.arguments"))
            name = str(table.get("name", ""))
            action = self._registry.action(name)
            if action is None:
                complaint = "has no effect yet" if name in _LATER_ACTIONS else "is no action"
                self._warn(place, f".name: {name} {complaint}")
                continue
            for complaint in Arguments(own, action.ARGUMENTS).complaints():
                self._warn(place, f".arguments: {complaint}")
            if name in arguments:
                arguments[name] = Arguments({**common, **own}, action.ARGUMENTS)
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


def _switch(value: object, where: str) -> bool:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise UsageError(f"{where}: want true or false, got {value!r}")
    return value
