"""How long the scheduler's work takes: stopwatches around what has no clock of its own.

The machine, its actions and its plugins are measured from outside, by wrapping them: the core stays a function of
what it is given.  The plugins of the last turn are kept, because they know how queues and gangs stood at its end.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import partial
from typing import Any

import msgspec

from podium.core.framework.action import Action
from podium.core.framework.framework import EnabledPlugin
from podium.core.framework.plugin import Plugin
from podium.core.framework.session import Session
from podium.core.profiles.profile import PluginEntry, Profile
from podium.engine.counters import Histogram
from podium.engine.scheduler import Scheduler
from podium.engine.world import World
from podium.kube.controller import Ticket

OPEN, CLOSE = "OnSessionOpen", "OnSessionClose"  # Volcano's names


class Stopwatch:
    """What has been measured, in milliseconds."""

    def __init__(self) -> None:
        self.turns = Histogram()
        self.binds = Histogram()
        self.actions: defaultdict[str, Histogram] = defaultdict(Histogram)
        self.plugins: defaultdict[tuple[str, str], Histogram] = defaultdict(Histogram)
        self.panels: dict[str, list[Plugin]] = {}  # the plugins of each profile's last turn

    def plugins_of_last_turns(self) -> list[Plugin]:
        """Of all profiles: they know how queues and gangs stood."""
        return [plugin for panel in self.panels.values() for plugin in panel]

    def measured(self, profiles: Mapping[str, Profile]) -> dict[str, Profile]:
        """The same profiles, with stopwatches."""
        return {name: self._measured(name, profile) for name, profile in profiles.items()}

    def _measured(self, name: str, profile: Profile) -> Profile:
        actions = tuple(_timed_action(action, self.actions[action.name]) for action in profile.actions)
        tiers = tuple(
            tuple(
                _TimedEntry(entry.kind, entry.switches, entry.arguments, self, name, index == place == 0)
                for place, entry in enumerate(tier)
            )
            for index, tier in enumerate(profile.tiers)
        )
        return msgspec.structs.replace(profile, actions=actions, tiers=tiers)


def _timed_action(action: Action, spent: Histogram) -> Action:
    """The same action, with all that it says of itself, measured while it works and not while it pauses."""
    timed = copy(action)
    timed.__dict__["run"] = partial(_run_timed, action, spent)
    return timed


def _run_timed(action: Action, watch: Histogram, session: Session) -> Iterator[None]:
    begin = time.perf_counter()
    steps = iter(action.run(session) or ())
    spent = 0.0
    for _ in steps:
        spent += time.perf_counter() - begin
        yield
        begin = time.perf_counter()
    watch.observe((spent + time.perf_counter() - begin) * 1000)


class _TimedEntry(PluginEntry, frozen=True):
    """A plugin of a profile whose session hooks are measured."""

    watch: Stopwatch
    profile: str
    first: bool  # of all plugins of the profile: with it a turn begins

    def make(self) -> EnabledPlugin:
        enabled = PluginEntry.make(self)
        plugin = enabled.plugin
        if self.first:
            self.watch.panels[self.profile] = []
        self.watch.panels[self.profile].append(plugin)
        for hook, stage in (("on_session_open", OPEN), ("on_session_close", CLOSE)):
            if plugin.has(hook):
                plugin.__dict__[hook] = _timed(getattr(plugin, hook), self.watch.plugins[plugin.name, stage])
        return enabled


def _timed(hook: Callable[[Session], None], spent: Histogram) -> Callable[[Session], None]:
    def timed(session: Session) -> None:
        begin = time.perf_counter()
        hook(session)
        spent.observe((time.perf_counter() - begin) * 1000)

    return timed


class MeasuredScheduler(Scheduler):
    """The machine, with a stopwatch on each turn: its own work, not the waiting in between."""

    def __init__(self, world: World, profiles: Mapping[str, Profile], watch: Stopwatch, **more: Any) -> None:
        super().__init__(world, watch.measured(profiles), **more)
        self._watch = watch
        self._spent = 0.0

    def reconfigure(self, profiles: Mapping[str, Profile]) -> None:
        super().reconfigure(self._watch.measured(profiles))

    def run(self, now: float, budget: int = 1000) -> list[Ticket]:
        turns, going_on = self.counters.turns, self.turning
        begin = time.perf_counter()
        tickets = super().run(now, budget)
        if going_on or self.counters.turns != turns:
            self._spent += time.perf_counter() - begin
            if not self.turning:
                self._watch.turns.observe(self._spent * 1000)
                self._spent = 0.0
        return tickets
