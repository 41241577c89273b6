"""The shape of every controller, and the sans-IO machine that runs a set of them.

A controller is a pure function from what is observed to what should be written:

    reconcile(key, cache, now) -> Outcome(changes, again_at)

`Manager` holds the rest: which keys are dirty, which changes are on their way, when to look again, how long to
back off after a refusal.  It has no loop and no clock.  A driver feeds it events and results and carries out
the changes it hands out: `embedded.driver` by asyncio, the simulator by an event heap.

One key's changes are carried out one after the other, and the key is not reconciled again before all of them
have been answered.  Together with the answers being applied to the cache at once, a reconcile() always sees
its own previous writes, so it needs no "expectations".
"""

from __future__ import annotations

import heapq
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import msgspec

from podium.errors import ApiError
from podium.kube.cache import Cache, Key, key_of
from podium.kube.changes import Change
from podium.kube.resources import Resource
from podium.kube.wire import Object

log = logging.getLogger(__name__)

FIRST_BACKOFF = 0.1
LAST_BACKOFF = 60.0


class Outcome(msgspec.Struct, frozen=True):
    """What a reconcile() wants: writes, in order, and the time to be asked again without an event."""

    changes: tuple[Change, ...] = ()
    again_at: float | None = None


NOTHING = Outcome()

# From an observed object to the keys of the controller's own objects that it may concern.
Mapper = Callable[[Object, Cache], Iterable[Key]]


class Controller(Protocol):
    """One controller.  `watches` says which objects concern which keys."""

    name: str
    watches: Mapping[Resource, Mapper]

    def reconcile(self, key: Key, cache: Cache, now: float) -> Outcome: ...


class Ticket(msgspec.Struct, frozen=True):
    """A change handed out to the driver, with the key to report its result under."""

    controller: str
    key: Key
    change: Change


class _Work(msgspec.Struct):
    """One controller's bookkeeping."""

    controller: Controller
    dirty: dict[Key, None]  # insertion-ordered set
    pending: dict[Key, deque[Change]]  # handed out or waiting, the head is on its way
    failures: dict[Key, int]


class Manager:
    """Runs controllers over one cache.  Events, results and `now` in; tickets out."""

    def __init__(self, controllers: Iterable[Controller]) -> None:
        self.cache = Cache()
        self._work = {c.name: _Work(controller=c, dirty={}, pending={}, failures={}) for c in controllers}
        self._timers: list[tuple[float, str, Key]] = []

    @property
    def resources(self) -> set[Resource]:
        """Everything that must be watched for these controllers."""
        return {resource for work in self._work.values() for resource in work.controller.watches}

    # --- what happened -------------------------------------------------------------------------------------

    def observe(self, resource: Resource, obj: Object) -> None:
        """An object was added or changed."""
        old = self.cache.apply(resource, obj)
        if old is obj:
            return
        self._mark(resource, obj)
        if old is not None:
            self._mark(resource, old)

    def forget(self, resource: Resource, obj: Object) -> None:
        """An object is gone."""
        known = self.cache.get(resource, *key_of(obj))
        if known is not None and known.uid != obj.uid:
            return  # a newer object took the name before the delete was told
        self.cache.remove(resource, key_of(obj))
        self._mark(resource, obj)

    def done(self, ticket: Ticket, result: Object | None, error: Exception | None, now: float) -> None:
        """A change was answered: with the object as it stands now, with nothing of use, or with an error."""
        work = self._work[ticket.controller]
        queue = work.pending[ticket.key]
        queue.popleft()
        if error is None or _harmless(error):
            if error is None and result is not None and not _of_subresource(ticket.change):
                self.observe(ticket.change.resource, result)
            if queue:
                return
            work.failures.pop(ticket.key, None)
        else:
            # What follows a failed write was decided on its success: drop it and think again, later.
            queue.clear()
            count = work.failures.get(ticket.key, 0)
            work.failures[ticket.key] = count + 1
            again = now + min(LAST_BACKOFF, FIRST_BACKOFF * 2**count)
            heapq.heappush(self._timers, (again, ticket.controller, ticket.key))
            log.log(
                logging.DEBUG if isinstance(error, ApiError) and error.code == 409 else logging.WARNING,
                "%s %s/%s: %s",
                ticket.controller,
                *ticket.key,
                error,
            )
        del work.pending[ticket.key]

    # --- what to do ----------------------------------------------------------------------------------------

    def run(self, now: float, budget: int = 1000) -> list[Ticket]:
        """Reconciles up to `budget` dirty keys and hands out the first change of each; `next_change` gives
        the rest one by one as they are answered."""
        while self._timers and self._timers[0][0] <= now:
            _, name, key = heapq.heappop(self._timers)
            self._work[name].dirty[key] = None
        tickets: list[Ticket] = []
        for name, work in self._work.items():
            ready = [key for key in work.dirty if key not in work.pending][:budget]
            budget -= len(ready)
            for key in ready:
                del work.dirty[key]
                outcome = self._reconcile(work, key, now)
                if outcome.again_at is not None:
                    heapq.heappush(self._timers, (outcome.again_at, name, key))
                if outcome.changes:
                    work.pending[key] = deque(outcome.changes)
                    tickets.append(Ticket(name, key, outcome.changes[0]))
        return tickets

    def next_change(self, ticket: Ticket) -> Ticket | None:
        """After `done(ticket)`: the next change of the same key, if it is still wanted."""
        queue = self._work[ticket.controller].pending.get(ticket.key)
        return Ticket(ticket.controller, ticket.key, queue[0]) if queue else None

    def next_wake(self, now: float) -> float | None:
        """When `run` has something to do without a new event: now, at a timer, or never (None)."""
        for work in self._work.values():
            if any(key not in work.pending for key in work.dirty):
                return now
        return self._timers[0][0] if self._timers else None

    def _mark(self, resource: Resource, obj: Object) -> None:
        for work in self._work.values():
            mapper = work.controller.watches.get(resource)
            if mapper is not None:
                for key in mapper(obj, self.cache):
                    work.dirty[key] = None

    def _reconcile(self, work: _Work, key: Key, now: float) -> Outcome:
        """A controller's bug on one object must not stop the others: it is told and retried slowly."""
        try:
            return work.controller.reconcile(key, self.cache, now)
        except Exception:
            log.exception("%s failed on %s/%s", work.controller.name, *key)
            return Outcome(again_at=now + LAST_BACKOFF)


def _harmless(error: Exception) -> bool:
    """Already there, or already gone: the change has been carried out before."""
    return isinstance(error, ApiError) and error.reason in ("AlreadyExists", "NotFound")


def _of_subresource(change: Change) -> bool:
    """Answers of binding, eviction and scale are not the object itself; those of status are."""
    return getattr(change, "subresource", "") not in ("", "status")
