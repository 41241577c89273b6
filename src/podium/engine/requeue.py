"""Whom a turn looks at, and when the next turn is due.

Most of what waits goes on waiting: a gang that found no place will find none until something happens that can help
it.  So a turn looks at what is new, and at the gangs whose refusal the news can lift: for each there is the set of
events that can lift any cause of its refusal.  One for which no node matches, or none is large enough, is not
asked because room came free.  Ten thousand stuck pods cost nothing while nothing happens, and do not hold up a new
one.

Two things can help that are no event of their own, and are worth a look at everything now and then: what has been
bound since may be a victim, or a neighbour that a pod wants to be near; and time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Set
from enum import Enum
from typing import assert_never

import msgspec

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
        # By gang the events that can lift what it was refused for; None: it was asked, and nobody said why not.
        self._stuck: dict[str, frozenset[WakeOn] | None] = {}
        self._refused: set[str] = set()  # in this turn
        self._last = float("-inf")
        self._last_full = float("-inf")
        self._pace = pace

    def forget(self) -> None:
        """Whatever was refused may come out differently: everything is looked at again, soon."""
        self._stuck.clear()
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

    def begin(self, look: Look, cluster: Cluster, now: float, quick_fit: QuickFit | None = None) -> set[str]:
        """A turn begins: the gangs that need not be asked.

        Nobody is spared for whom others wait or could take what was promised: the head of a queue that serves
        strictly in order, and gangs whose places are being left for them.
        """
        gangs, promised = cluster.accounts.active, cluster.promised
        cluster_events, self._last = self.cluster_events, now
        if look is Look.SOME:
            cluster_events.gangs, new = set(), cluster_events.gangs
        else:
            self.cluster_events, new = ClusterEvents(), cluster_events.gangs
            self._last_full = now
            self._pace = min(SLOWEST_PACE, max(self._least, PACE_PER_GANG * len(gangs)))
        for id in (self._stuck.keys() & new) | (self._stuck.keys() - gangs.keys()):
            del self._stuck[id]
        self._refused.clear()
        helped = _helped(look, cluster_events)
        if helped:
            spared = {id for id, wake_on in self._stuck.items() if not _asks(wake_on, helped)}
        else:
            spared = set(self._stuck)  # the same, and most often: a lone pod must not wait for a look at thousands
        # Where places are held, there may be room for whoever is before those that hold them.
        held = bool(cluster.accounts.holding)
        if look is Look.ALL and not cluster_events.nodes and quick_fit is not None and not held:
            waiting = (id for id, wake_on in self._stuck.items() if wake_on is not None and wake_on <= _ROOM)
            spared |= quick_fit.without(set(waiting) - spared)
        spared -= promised
        in_order = {queue.id for queue in cluster.queues.values() if queue.fifo}
        return {id for id in spared if gangs[id].queue not in in_order} if in_order else spared

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
        known = self._stuck.get(gang)
        self._stuck[gang] = wake_on | known if known is not None and gang in self._refused else wake_on
        self._refused.add(gang)

    def ended(self, asked: Iterable[str]) -> None:
        """A turn ends: whoever was asked and still waits is stuck."""
        for id in asked:
            if id not in self.cluster_events.gangs:
                self._stuck.setdefault(id, None)


def _helped(look: Look, cluster_events: ClusterEvents) -> frozenset[WakeOn]:
    """The refusals that a look is for.  What lacks members, or is wrong itself, is looked at when it changes."""
    if look is Look.SOME:
        return frozenset()
    everything = frozenset({WakeOn.ROOM, WakeOn.QUEUE, WakeOn.TIME, WakeOn.NODES})
    return everything if look is Look.FLUSH or cluster_events.nodes else everything - {WakeOn.NODES}


def _asks(wake_on: frozenset[WakeOn] | None, helped: frozenset[WakeOn]) -> bool:
    """Whether a gang is asked again; of one that was refused without a reason nobody knows what helps it."""
    return bool(helped) if wake_on is None else not wake_on.isdisjoint(helped)
