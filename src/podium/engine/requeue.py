"""Whom a turn looks at, and when the next turn is due.

Most of what waits goes on waiting: a gang that found no place will find none until something happens that can help
it.  So a turn looks at what is new, and at the gangs whose refusal the news can lift: for each there is the set of
events that can lift any cause of its refusal.  One for which no node matches, or none is large enough, is not
asked because room came free.  Ten thousand stuck pods cost nothing while nothing happens, and do not hold up a new
one.

Who is stuck is kept by queue and by what can help, and who is not is kept apart.  So a turn goes through those
that it asks, and never through all that wait.

Two things can help that are no event of their own, and are worth a look at everything now and then: what has been
bound since may be a victim, or a neighbour that a pod wants to be near; and time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Set
from enum import Enum
from typing import assert_never

import msgspec

from podium.core.cluster.accounts import Accounts
from podium.core.cluster.changed_gangs import ChangedGangs
from podium.core.cluster.cluster import Cluster
from podium.core.model.decisions import (
    Bind,
    Decision,
    GangPhase,
    LookAgain,
    ModelOnly,
    Refuse,
    Release,
    Report,
    Request,
    TimeOut,
)
from podium.engine.backlog import Backlog
from podium.engine.quick_fit import QuickFit
from podium.reasons import WakeOn

# A burst of events is decided on together: the first after a silence at once, the next ones this much later.
PACE = 0.005
# A look at everything comes the later the more there is to look at.
PACE_PER_GANG = 0.0005
SLOWEST_PACE = 1.0
# How long time alone may change an answer unseen.
FLUSH = 30.0
# Who waits for nothing else needs room, as long as nodes stay as they are.
_ROOM = frozenset({WakeOn.ROOM, WakeOn.QUEUE, WakeOn.NODES})


# The queue of a gang that is stuck, and the events that can lift what it was refused for; None: it was asked, and
# nobody said why not.
_Cause = tuple[str, frozenset[WakeOn] | None]


class ClusterEvents(msgspec.Struct):
    """What has happened since the last turn, as far as it can change a decision."""

    room: bool = False  # something was given back, or a limit was moved
    nodes: bool = False  # nodes came, went or changed
    growth: bool = False  # something was bound
    gangs: set[str] = set()  # new ones, and those that changed themselves

    def add(self, other: ClusterEvents) -> None:
        self.room |= other.room
        self.nodes |= other.nodes
        self.growth |= other.growth
        self.gangs |= other.gangs


class Look(Enum):
    """How much a turn looks at."""

    NOTHING = "there is no turn"
    SOME = "what is new"
    ALL = "everything that the news can help"
    GROWTH = "everything that can do with what was bound: a victim, or a neighbour"
    FLUSH = "everything"


class Requeue:
    """Remembers who is stuck, and on what."""

    def __init__(self, period: float, pace: float = PACE, flush: float = FLUSH) -> None:
        """`period` is the least time between two looks at everything when something was only bound."""
        self._period = period
        self._flush = flush
        self._least = pace
        self.cluster_events = ClusterEvents(nodes=True)
        self._stuck: dict[str, _Cause] = {}
        self._by_cause: dict[_Cause, set[str]] = {}
        self._fresh: set[str] = set()  # who waits and is not stuck
        self._refused: set[str] = set()  # in this turn
        self._cluster: Cluster | None = None  # that of the last turn, whose changes are followed
        self._accounts: Accounts | None = None
        self._changed: ChangedGangs | None = None
        self._last = float("-inf")
        self._last_full = float("-inf")
        self._pace = pace
        self._gone_through = 0  # gangs, in the last look at all of them

    def forget(self) -> None:
        """Whatever was refused may come out differently: everything is looked at again, soon."""
        self._stuck.clear()
        self._by_cause.clear()
        self._accounts = None
        self.cluster_events.nodes = True

    @property
    def stuck(self) -> Set[str]:
        """The gangs that were asked in vain, and wait for what can help."""
        return self._stuck.keys()

    # --- when --------------------------------------------------------------------------------------------------

    def due(self, now: float, waiting: bool) -> Look:
        """What kind of turn is due, given whether anything waits at all."""
        cluster_events = self.cluster_events
        if (cluster_events.room or cluster_events.nodes) and now >= self._last_full + self._pace:
            return Look.ALL
        if cluster_events.growth and waiting and now >= self._last_full + max(self._period, self._pace):
            return Look.GROWTH
        if waiting and now >= self._last_full + self._flush:
            return Look.FLUSH
        if cluster_events.gangs and now >= self._last + self._least:
            return Look.SOME
        return Look.NOTHING

    def next_due(self, waiting: bool) -> float | None:
        cluster_events = self.cluster_events
        times = []
        if cluster_events.room or cluster_events.nodes:
            times.append(self._last_full + self._pace)
        if waiting:
            times.append(
                self._last_full + (max(self._period, self._pace) if cluster_events.growth else self._flush)
            )
        if cluster_events.gangs:
            times.append(self._last + self._least)
        due = min(times, default=math.inf)
        return due if due < math.inf else None

    # --- whom --------------------------------------------------------------------------------------------------

    def begin(
        self,
        look: Look,
        cluster: Cluster,
        now: float,
        quick_fit: QuickFit | None = None,
        backlog: Backlog | None = None,
    ) -> set[str]:
        """A turn begins: the gangs that are to be asked.  Those that a backlog looks after are woken there.

        Nobody is left out for whom others wait or could take what was promised: the head of a queue that serves
        strictly in order, and gangs whose places are being left for them.
        """
        accounts = cluster.accounts
        cluster_events, self._last = self.cluster_events, now
        if look is Look.SOME:
            cluster_events.gangs, new = set(), cluster_events.gangs
        else:
            self.cluster_events, new = ClusterEvents(), cluster_events.gangs
        self._catch_up(cluster, everything=look is Look.FLUSH)
        for id in new:
            self._unstick(id)
            if id in accounts.active:
                self._fresh.add(id)
        self._refused.clear()
        # Where places are held, there may be room for whoever is before those that hold them.
        by_room = look is Look.ALL and not cluster_events.nodes and not accounts.holding
        asked = self._helped(_helpful(look, cluster_events), quick_fit if by_room else None, backlog)
        asked |= self._fresh
        if look is not Look.SOME:
            self._last_full = now
            self._pace = min(SLOWEST_PACE, max(self._least, PACE_PER_GANG * self._gone_through))
        asked |= cluster.nominations.gangs & accounts.active.keys()
        for queue in cluster.queues.values():
            if queue.fifo:
                asked |= accounts.active_in.get(queue.id, {}).keys()
        return asked

    def _helped(self, helpful: frozenset[WakeOn], quick_fit: QuickFit | None, backlog: Backlog | None) -> set[str]:
        """Who is stuck and may be helped by such events."""
        found: set[str] = set()
        for_room: set[str] = set()
        for (queue, wake_on), ids in self._by_cause.items() if helpful else ():
            if not _asks(wake_on, helpful):
                continue
            left = ids if backlog is None else backlog.wake(queue, ids)
            found |= left
            if wake_on is not None and wake_on <= _ROOM:
                for_room |= left
        self._gone_through = len(found) + len(self._fresh)
        return found - quick_fit.without(for_room) if quick_fit is not None and for_room else found

    def _catch_up(self, cluster: Cluster, *, everything: bool) -> None:
        """Takes in who waits now and who does no longer.

        Whoever has come to wait is asked, also if nobody has told of it.
        """
        active = cluster.accounts.active
        if self._cluster is not cluster or self._changed is None:
            self._cluster, self._changed = cluster, cluster.changes.follow()
            everything = True
        changed = self._changed.take()
        if everything or self._accounts is not cluster.accounts:
            self._accounts = cluster.accounts
            for id in self._stuck.keys() - active.keys():
                self._unstick(id)
            self._fresh = active.keys() - self._stuck.keys()
            return
        for id in (gang.id for gang in changed):
            if id not in active:
                self._unstick(id)
                self._fresh.discard(id)
            elif id not in self._stuck:
                self._fresh.add(id)

    def handed_over(self, gang: str) -> None:
        """A backlog has taken a gang, and has it asked when its turn comes."""
        self._fresh.discard(gang)

    def decided(self, decisions: Iterable[Decision]) -> None:
        """What a step of the turn said."""
        for decision in decisions:
            match decision:
                case GangPhase():
                    self.cluster_events.gangs.add(decision.gang)  # the actions before may want to look again
                case Refuse():
                    self._note(decision.gang, decision.refusal.wake_on)
                    self.cluster_events.gangs.discard(decision.gang)
                case Bind():
                    self.cluster_events.growth = True
                    self.cluster_events.gangs.discard(decision.gang)
                case Release() | TimeOut():
                    self.cluster_events.room = True
                case Request() | ModelOnly() | Report() | LookAgain():
                    pass
                case _:
                    assert_never(decision)

    def _note(self, gang: str, wake_on: frozenset[WakeOn]) -> None:
        """Why a gang was refused; if it was in this turn already, for something else, either may be lifted."""
        _, before = self._stuck.get(gang, ("", None))
        self._stick(gang, wake_on | before if before is not None and gang in self._refused else wake_on)
        self._refused.add(gang)

    def _stick(self, id: str, wake_on: frozenset[WakeOn] | None) -> None:
        self._unstick(id)
        gang = self._cluster.gangs.get(id) if self._cluster is not None else None
        cause = self._stuck[id] = (gang.queue if gang is not None else "", wake_on)
        self._by_cause.setdefault(cause, set()).add(id)
        self._fresh.discard(id)

    def _unstick(self, id: str) -> None:
        cause = self._stuck.pop(id, None)
        if cause is not None:
            alike = self._by_cause[cause]
            alike.discard(id)
            if not alike:
                del self._by_cause[cause]

    def ended(self, asked: Iterable[str]) -> None:
        """A turn ends: whoever was asked and still waits is stuck."""
        for id in asked:
            if id not in self.cluster_events.gangs and id not in self._stuck:
                self._stick(id, None)


def _helpful(look: Look, cluster_events: ClusterEvents) -> frozenset[WakeOn]:
    """The refusals that a look is for.  What lacks members, or is wrong itself, is looked at when it changes."""
    if look is Look.SOME:
        return frozenset()
    everything = frozenset({WakeOn.ROOM, WakeOn.QUEUE, WakeOn.TIME, WakeOn.NODES})
    return everything if look is Look.FLUSH or cluster_events.nodes else everything - {WakeOn.NODES}


def _asks(wake_on: frozenset[WakeOn] | None, helpful: frozenset[WakeOn]) -> bool:
    """Whether a gang is asked again; of one that was refused without a reason nobody knows what helps it."""
    return bool(helpful) if wake_on is None else not wake_on.isdisjoint(helpful)
