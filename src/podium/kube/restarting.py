"""A machine that is built anew when it raises: a bug in one must not end the others that share its driver.

What it was given is kept here, so a new one is given it again, in portions, and nobody has to list anything.  A
new one starts after a pause, longer each time, and not before everything that the old one had asked for is
answered: it must not decide on room that a request under way is about to take.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from podium.kube.backoff import pause
from podium.kube.cache import Key, key_of
from podium.kube.controller import Ticket
from podium.kube.machine import Machine
from podium.kube.resources import Resource
from podium.kube.wire import Object

T = TypeVar("T")

log = logging.getLogger(__name__)

FIRST_PAUSE = 1.0
LAST_PAUSE = 60.0
_WELL_SECONDS = 300.0  # after which a failure counts as the first one


class Restarting:
    """One machine after the other, as one."""

    def __init__(self, make: Callable[[], Machine], name: str) -> None:
        self._make = make
        self._name = name
        self._machine: Machine = make()
        self._resources = self._machine.resources  # while there is none
        self._running = True
        self.restarts = 0
        self._failures = 0  # in a row
        self._since = float("-inf")  # when this one began
        self._at: float | None = None  # when the next one is to begin; None: nobody has looked at a clock yet
        self._objects: dict[Resource, dict[Key, Object]] = {}
        self._listed: dict[Resource, None] = {}
        self._served: dict[Resource, None] = {}
        self._unobserved: deque[tuple[Resource, Key]] = deque()  # what a new one has yet to be given
        self._awaited: dict[int, Ticket] = {}  # tickets of this one under way, by identity
        self._abandoned: dict[int, Ticket] = {}  # those of the ones before

    @property
    def machine(self) -> Machine:
        """The one that runs, or the last one that did."""
        return self._machine

    @property
    def resources(self) -> set[Resource]:
        return self._machine.resources if self._running else self._resources

    # --- what it is given ----------------------------------------------------------------------------------------

    def serve(self, resource: Resource) -> None:
        self._served[resource] = None
        self._guarded(None, self._machine.serve, resource)

    def withdraw(self, resource: Resource) -> None:
        self._served.pop(resource, None)
        self._guarded(None, self._machine.withdraw, resource)

    def synced(self, resource: Resource) -> None:
        self._listed[resource] = None
        if not self._unobserved:
            self._guarded(None, self._machine.synced, resource)

    def observe(self, resource: Resource, obj: Object) -> None:
        self._objects.setdefault(resource, {})[key_of(obj)] = obj
        self._guarded(None, self._machine.observe, resource, obj)

    def forget(self, resource: Resource, obj: Object) -> None:
        known = self._objects.get(resource, {})
        if (last := known.get(key_of(obj))) is not None and last.uid == obj.uid:
            del known[key_of(obj)]
        self._guarded(None, self._machine.forget, resource, obj)

    def done(self, ticket: Ticket, result: Object | None, error: Exception | None, now: float) -> None:
        if self._abandoned.pop(id(ticket), None) is None:
            self._awaited.pop(id(ticket), None)
            self._guarded(None, self._machine.done, ticket, result, error, now)

    # --- what it does --------------------------------------------------------------------------------------------

    def run(self, now: float, budget: int = 1000) -> list[Ticket]:
        if not self._running:
            self._begin(now)
        for _ in range(min(budget, len(self._unobserved)) if self._running else 0):
            self._report_next()
        if self._unobserved or not self._running:
            return []
        nothing: list[Ticket] = []
        tickets = self._guarded(nothing, self._machine.run, now, budget)
        for ticket in tickets:
            self._awaited[id(ticket)] = ticket
        return tickets

    def next_wake(self, now: float) -> float | None:
        if self._running and not self._unobserved:
            wake = self._guarded(None, self._machine.next_wake, now)
            if self._running:
                return wake
        if self._running or self._at is None:
            return now
        return None if self._abandoned else max(now, self._at)  # the last answer wakes it

    # --- failures ------------------------------------------------------------------------------------------------

    def _guarded(self, otherwise: T, work: Callable[..., T], *arguments: Any) -> T:
        if not self._running:
            return otherwise
        try:
            return work(*arguments)
        except Exception:
            log.exception("%s failed; it is started anew", self._name)
            self._running = False
            self._at = None
            self._abandoned |= self._awaited
            self._awaited = {}
            self._unobserved.clear()
            return otherwise

    def _begin(self, now: float) -> None:
        """Starts the next one when it is time."""
        if self._at is None:
            self._failures = 1 if now >= self._since + _WELL_SECONDS else self._failures + 1
            self._at = now + pause(self._failures - 1, FIRST_PAUSE, LAST_PAUSE)
        if self._abandoned or now < self._at:
            return
        self._since = now
        self.restarts += 1
        self._running = True
        made = self._guarded(None, self._make)
        if made is None:
            return
        self._machine = made
        for resource in self._served:
            self._guarded(None, made.serve, resource)
        self._unobserved.extend((resource, key) for resource, known in self._objects.items() for key in known)
        if not self._unobserved:
            self._observe_listed()
        log.warning("%s has been started anew", self._name)

    def _report_next(self) -> None:
        if not self._unobserved:
            return  # it failed at the one before
        resource, key = self._unobserved.popleft()
        obj = self._objects[resource].get(key)
        if obj is not None:
            self._guarded(None, self._machine.observe, resource, obj)
        if not self._unobserved:
            self._observe_listed()

    def _observe_listed(self) -> None:
        for resource in list(self._listed):
            self._guarded(None, self._machine.synced, resource)
