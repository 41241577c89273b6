"""The sans-IO machine that runs a set of controllers.

A controller says what should be written (`kube.controller`).  `Manager` holds the rest: which keys are dirty,
which changes are on their way, when to look again, how long to back off after a refusal.  It has no loop and no
clock.  A driver feeds it events and results and carries out the changes it hands out: `kube.driver` by asyncio,
the simulator by an event heap.

    observe / forget / synced   events of the watches
    run                         hands out tickets: changes to be carried out, each to be answered by `done`
    next_wake                   when to call `run` again though nothing happened

The changes of one outcome go out in waves.  A run of changes of the same sort on different objects of one
resource (fifty creates of pods) is one wave and may be carried out concurrently; the next wave starts when all
of it has been answered, and a failure drops what was to follow.  The key is not reconciled again before that.
Together with the answers being applied to the cache at once, a reconcile() always sees its own previous
writes, so it needs no "expectations".

Nobody decides on half a picture: a controller rests until every resource it watches has been listed once.
"""

from __future__ import annotations

import heapq
import logging
from collections import OrderedDict, deque
from collections.abc import Iterable

import msgspec

from podium.errors import ApiError
from podium.kube.backoff import pause
from podium.kube.cache import Cache, Key, key_of
from podium.kube.changes import Change, Create, Delete, Patch, Read, Replace
from podium.kube.controller import Complaining, Controller, Mapper, Note, Outcome, Paced, Ticket, Universal
from podium.kube.events import Recorder, regarding
from podium.kube.resources import Resource
from podium.kube.wire import Object, Pod

log = logging.getLogger(__name__)

FIRST_BACKOFF = 0.1
LAST_BACKOFF = 60.0

# Below this many entries a heap of timers is not worth cleaning of those that were replaced.
_SMALL_HEAP = 1024


class _Flight(msgspec.Struct):
    """One key's changes: how many are on their way, and the waves that follow."""

    out: int
    waves: deque[list[Change]]
    notes: tuple[Note, ...] = ()
    repeat: bool = False  # an answer said "already so": the cache is behind, look again soon
    failed: bool = False


class _Work(msgspec.Struct):
    """One controller's bookkeeping.  Every entry goes away when its key is at rest."""

    controller: Controller
    universal: bool
    recorder: Recorder
    # Keys to reconcile now, in order.  Taking the first one out of a plain dict again and again is quadratic.
    dirty: OrderedDict[Key, None] = msgspec.field(default_factory=OrderedDict)
    deferred: set[Key] = set()  # became dirty while their changes were under way
    flights: dict[Key, _Flight] = {}
    failures: dict[Key, int] = {}
    timers: dict[Key, float] = {}
    resting: dict[Key, float] = {}
    hasty: dict[Key, int] = {}  # how often in a row a key was to be looked at again at a time that had passed
    pace: float = 0.0  # changes a second; 0 for as many as there are
    budget: float = 1.0  # changes that may be made now; below one nothing is looked at
    refilled: float | None = None

    def refill(self, now: float) -> None:
        if self.pace and self.refilled is None:
            self.budget = self.pace
        elif self.pace and self.refilled is not None:
            self.budget = min(self.pace, self.budget + max(0.0, now - self.refilled) * self.pace)
        self.refilled = now

    @property
    def spent(self) -> bool:
        # Times are large numbers, and what is due to the moment may come out a little short of one.
        return self.pace > 0 and self.budget < 0.999

    @property
    def affords_at(self) -> float:
        """When the next change may be made, of one that has spent all."""
        return (self.refilled or 0.0) + (1.0 - self.budget) / self.pace


class Manager:
    """Runs controllers over one cache.  Events, results and `now` in; tickets out."""

    def __init__(self, controllers: Iterable[Controller]) -> None:
        self.cache = Cache()
        self._work = {
            c.name: _Work(
                controller=c,
                universal=isinstance(c, Universal),
                recorder=Recorder(_component(c)),
                pace=c.writes_a_second if isinstance(c, Paced) else 0.0,
            )
            for c in controllers
        }
        self._paced = [work for work in self._work.values() if work.pace]
        self._turns = deque(self._work)  # who comes first in the next `run`
        self._heap: list[tuple[float, str, Key]] = []
        self._landed: dict[tuple[str, Key], None] = {}  # flights whose next wave can go out
        self._events: list[Ticket] = []
        self._routes: dict[Resource, list[tuple[_Work, Mapper]]] = {}  # who maps which resource, as first asked

    @property
    def resources(self) -> set[Resource]:
        """Everything that must be watched for these controllers; it moves with `serve` and `withdraw`."""
        return {resource for work in self._work.values() for resource in work.controller.watches}

    # --- what happened -------------------------------------------------------------------------------------

    def serve(self, resource: Resource) -> None:
        """The server has this resource (again): controllers of everything take it in."""
        self._routes.clear()
        for work in self._work.values():
            if isinstance(work.controller, Universal):
                work.controller.serve(resource)

    def withdraw(self, resource: Resource) -> None:
        """The server has it no longer; what was known of it is forgotten without a word to anybody."""
        self._routes.clear()
        for work in self._work.values():
            if isinstance(work.controller, Universal):
                work.controller.withdraw(resource)
        self.cache.drop(resource)

    def synced(self, resource: Resource) -> None:
        """The first list of a resource has been observed as a whole."""
        self.cache.set_synced(resource)

    def observe(self, resource: Resource, obj: Object) -> None:
        """An object was added or changed."""
        old = self.cache.apply(resource, obj)
        if old is obj:
            return
        self._mark(resource, obj)
        if old is not None and _may_concern_others(old, obj):
            self._mark(resource, old)

    def forget(self, resource: Resource, obj: Object) -> None:
        """An object is gone."""
        self.cache.tombstone(obj.uid)
        known = self.cache.get(resource, *key_of(obj))
        if known is not None and known.uid != obj.uid:
            return  # a newer object took the name before the delete was seen
        self.cache.remove(resource, key_of(obj))
        self._mark(resource, obj)

    def done(self, ticket: Ticket, result: Object | None, error: Exception | None, now: float) -> None:
        """A change was answered: with the object as it stands now, with nothing of use, or with an error."""
        if not ticket.purpose:
            return
        work = self._work[ticket.purpose]
        key = ticket.key
        flight = work.flights[key]
        flight.out -= 1
        if error is None:
            self._answered(work, ticket, result)
        elif isinstance(ticket.change, Read) and _already_so(ticket.change, error):
            self._answered(work, ticket, None)
        elif _already_so(ticket.change, error):
            flight.repeat = True
        else:
            # What follows a failed write was decided on its success: drop it and think again, later.
            if not flight.failed:
                self._complain(work, ticket, error, now)
            flight.failed = True
            flight.waves.clear()
            level = logging.DEBUG if _expected(error) else logging.WARNING
            log.log(level, "%s %s/%s: %s", ticket.purpose, *key, error)
        if flight.out:
            return
        if flight.waves:
            self._landed[ticket.purpose, key] = None
            return
        self._at_rest(work, key, now)

    def _answered(self, work: _Work, ticket: Ticket, result: Object | None) -> None:
        change = ticket.change
        if isinstance(change, Read):
            # The question came from a doubt about what the cache holds; it is settled either way.
            work.deferred.add(ticket.key)
            if result is None or result.uid != change.uid:
                self.cache.tombstone(change.uid)
        if result is None or _of_subresource(change) or self.cache.is_tombstone(result.uid):
            return
        if not self.cache.knows(change.resource, result):  # the watch may have been faster
            self.observe(change.resource, result)

    def _at_rest(self, work: _Work, key: Key, now: float) -> None:
        """All changes of a key have been answered, or given up."""
        flight = work.flights.pop(key)
        if flight.failed or flight.repeat:
            count = work.failures.get(key, 0)
            work.failures[key] = count + 1
            again = now + pause(count, FIRST_BACKOFF, LAST_BACKOFF)
            timer = work.timers.get(key)
            self._set_timer(work, key, again if timer is None else min(timer, again))
        else:
            work.failures.pop(key, None)
        if not flight.failed:
            self._tell(work, key, flight.notes, now)
        if key in work.deferred:
            work.deferred.discard(key)
            work.dirty[key] = None

    def _complain(self, work: _Work, ticket: Ticket, error: Exception, now: float) -> None:
        """Reports the first refusal in a flight; others are mostly of the same kind."""
        if isinstance(work.controller, Complaining) and isinstance(error, ApiError) and not _expected(error):
            note = work.controller.refused(ticket.key, ticket.change, error, self.cache)
            self._tell(work, ticket.key, (note,) if note is not None else (), now)

    def _tell(self, work: _Work, key: Key, notes: tuple[Note, ...], now: float) -> None:
        for note in notes:
            about = regarding(note.resource, note.about)
            change = work.recorder.record(about, note.type, note.reason, note.message, now)
            if change is not None:
                self._events.append(Ticket("", key, change))

    # --- what to do ----------------------------------------------------------------------------------------

    def run(self, now: float, budget: int = 1000) -> list[Ticket]:
        """Hands out what can be carried out now, after reconciling up to `budget` dirty keys.

        Controllers take turns key by key, so that a burst of one does not hold the others up.
        """
        tickets, self._events = self._events, []
        for name, key in self._landed:
            self._send(self._work[name], key, tickets)
        self._landed.clear()
        self._expire(now)
        for work in self._paced:
            work.refill(now)
        awake = deque(work for name in self._turns if (work := self._work[name]).dirty and self._can_run(work))
        self._turns.rotate(-1)
        while awake and budget > 0:
            work = awake.popleft()
            key, _ = work.dirty.popitem(last=False)
            if self._rests(work, key, now):
                if work.dirty:
                    awake.append(work)
                continue
            budget -= 1
            outcome = self._reconcile(work, key, now)
            if work.pace:
                work.budget -= len(outcome.changes)
            if work.dirty and not work.spent:
                awake.append(work)
            self._set_timer(work, key, self._again_at(work, key, outcome, now))
            if outcome.rest:
                work.resting[key] = now + outcome.rest
            if outcome.changes:
                work.flights[key] = _Flight(out=0, waves=_waves(outcome.changes), notes=outcome.notes)
                self._send(work, key, tickets)
            else:
                self._tell(work, key, outcome.notes, now)
        return tickets

    def _again_at(self, work: _Work, key: Key, outcome: Outcome, now: float) -> float | None:
        """When to look at a key again.  A time that has passed would be at once, and then again, without an end:
        what follows from a write comes as an event, and where nothing is written the answer will be the same."""
        at = outcome.again_at
        if at is None or at > now:
            work.hasty.pop(key, None)
            return at
        count = work.hasty[key] = work.hasty.get(key, 0) + 1
        if count == 2 and not outcome.changes:
            log.error("%s %s/%s: asks to be looked at again at a time that has passed", work.controller.name, *key)
        return now + pause(count - 1, FIRST_BACKOFF, LAST_BACKOFF)

    def next_wake(self, now: float) -> float | None:
        """When `run` has something to do without a new event: now, at a timer, or never (None)."""
        if self._events or self._landed or self._any_can_run():
            return now
        self._drop_replaced()
        times = [work.affords_at for work in self._paced if work.dirty and work.spent and self._is_synced(work)]
        if self._heap:
            times.append(self._heap[0][0])
        return max(now, min(times)) if times else None

    @property
    def in_flight(self) -> int:
        """How many changes are handed out and not answered."""
        return sum(flight.out for work in self._work.values() for flight in work.flights.values())

    def _any_can_run(self) -> bool:
        return any(work.dirty and self._can_run(work) for work in self._work.values())

    def _can_run(self, work: _Work) -> bool:
        """Whether a controller may look at its keys."""
        return not work.spent and self._is_synced(work)

    def _is_synced(self, work: _Work) -> bool:
        return work.universal or all(map(self.cache.synced, work.controller.watches))

    def _rests(self, work: _Work, key: Key, now: float) -> bool:
        """Whether a key was looked at a moment ago and asked for a rest; its look is then put off, not lost."""
        until = work.resting.pop(key, 0.0)
        if until <= now:
            return False
        work.resting[key] = until
        timer = work.timers.get(key)
        self._set_timer(work, key, until if timer is None else min(timer, until))
        return True

    def _send(self, work: _Work, key: Key, tickets: list[Ticket]) -> None:
        flight = work.flights[key]
        wave = flight.waves.popleft()
        flight.out = len(wave)
        tickets.extend(Ticket(work.controller.name, key, change) for change in wave)

    def _mark(self, resource: Resource, obj: Object) -> None:
        routes = self._routes.get(resource)
        if routes is None:
            everybody = [(work, work.controller.watches.get(resource)) for work in self._work.values()]
            routes = self._routes[resource] = [(work, mapper) for work, mapper in everybody if mapper is not None]
        for work, mapper in routes:
            for key in mapper(obj, self.cache):
                if key in work.flights:
                    work.deferred.add(key)
                else:
                    work.dirty[key] = None

    def _reconcile(self, work: _Work, key: Key, now: float) -> Outcome:
        """A controller's bug on one object must not stop the others: it is logged and retried slowly."""
        try:
            return work.controller.reconcile(key, self.cache, now)
        except Exception:
            log.exception("%s failed on %s/%s", work.controller.name, *key)
            return Outcome(again_at=now + LAST_BACKOFF)

    # --- timers: at most one for each key; a heap entry that differs from it has been replaced --------------

    def _set_timer(self, work: _Work, key: Key, at: float | None) -> None:
        if at is None:
            work.timers.pop(key, None)
        elif work.timers.get(key) != at:
            work.timers[key] = at
            heapq.heappush(self._heap, (at, work.controller.name, key))
            live = sum(len(each.timers) for each in self._work.values())
            if len(self._heap) > max(_SMALL_HEAP, 2 * live):
                self._heap = [
                    (at, name, key) for name, each in self._work.items() for key, at in each.timers.items()
                ]
                heapq.heapify(self._heap)

    def _expire(self, now: float) -> None:
        while self._heap and self._heap[0][0] <= now:
            at, name, key = heapq.heappop(self._heap)
            work = self._work[name]
            if work.timers.get(key) != at:
                continue
            del work.timers[key]
            if key in work.flights:
                work.deferred.add(key)
            else:
                work.dirty[key] = None

    def _drop_replaced(self) -> None:
        while self._heap:
            at, name, key = self._heap[0]
            if self._work[name].timers.get(key) == at:
                return
            heapq.heappop(self._heap)


def _component(controller: Controller) -> str:
    """The component of an event.  Controllers of another component than the controller manager say which."""
    return str(getattr(controller, "component", f"{controller.name}-controller"))


def _may_concern_others(old: Object, new: Object) -> bool:
    """Whether an object's earlier state may lead to other keys than its present one.

    Always, to be safe; but of pods, which make nearly all events, everything that leads to others is immutable
    or stands here.
    """
    if not isinstance(new, Pod):
        return True
    before, after = old.metadata, new.metadata
    return before.labels != after.labels or before.owner_references != after.owner_references


def _waves(changes: tuple[Change, ...]) -> deque[list[Change]]:
    """Cuts changes into runs that may be carried out concurrently: one sort, one resource, each object once."""
    waves: deque[list[Change]] = deque()
    last: tuple[type[Change], Resource, str] | None = None
    touched: set[Key] = set()
    for change in changes:
        sort = (type(change), change.resource, getattr(change, "subresource", ""))
        key = _target(change)
        if sort != last or key in touched:
            waves.append([])
            touched.clear()
        waves[-1].append(change)
        touched.add(key)
        last = sort
    return waves


def _target(change: Change) -> Key:
    if isinstance(change, Create) and not change.name:
        return change.namespace, str(change.document.get("metadata", {}).get("name", ""))
    return change.namespace, change.name


def _already_so(change: Change, error: Exception) -> bool:
    """Already there, or already gone: the change has been carried out before, or is no longer needed.

    A create that meets NotFound is another matter: its namespace does not exist.
    """
    if not isinstance(error, ApiError):
        return False
    if isinstance(change, Create):
        return error.reason == "AlreadyExists"
    if isinstance(change, Delete) and change.uid and error.reason == "Conflict":
        return True  # the name belongs to another object now
    if isinstance(change, Patch) and change.uid and _about_uid(error):
        return True
    return error.reason == "NotFound"


def _about_uid(error: ApiError) -> bool:
    return any(cause.get("field") == "metadata.uid" for cause in error.details.get("causes") or ())


def _expected(error: Exception) -> bool:
    """Refusals that come with the job: a lost race, or a namespace that is on its way out."""
    if not isinstance(error, ApiError):
        return False
    causes = error.details.get("causes") or ()
    return error.code == 409 or any(cause.get("reason") == "NamespaceTerminating" for cause in causes)


def _of_subresource(change: Change) -> bool:
    """Answers of binding, eviction and scale are not the object itself; those of status are."""
    return isinstance(change, Create | Patch | Replace) and change.subresource not in ("", "status")
