"""The decision log: what turns did and refused, for people who ask later.

Turns decide thousands of things; a reader wants one line for each thing that happened.  So the binds of a gang in
one step are one entry, and so are a gang's refusals for one reason, however often it is refused: the entry keeps
when that was first and last, how often, and the newest numbers.  An entry holds data, never text; whoever shows it
makes the sentence.

The log is bounded.  The oldest entries go first; what is known of a gang's last refusal goes when the gang is
placed or gone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import assert_never

import msgspec

from podium.core.cluster.cluster import Cluster
from podium.core.model.decisions import (
    Bind,
    Decision,
    Evict,
    Failure,
    GangPhase,
    Journal,
    LookAgain,
    Nominate,
    QueueFault,
    Refuse,
    Release,
    Reserve,
    Resize,
    TimeOut,
    Ungate,
)
from podium.core.model.model import Gang, Phase
from podium.refusal import Refusal

ENTRIES = 5000
REFUSALS = 50_000  # gangs whose last refusal is kept
NODES_NAMED = 3  # of the binds of one step

# What an entry is about, in the order of the decisions.
BIND = "bind"
RESERVE = "reserve"
RELEASE = "release"
RESIZE = "resize"
NOMINATE = "nominate"
EVICT = "evict"
PHASE = "phase"
REFUSE = "refuse"
QUEUE = "queue"
FAILURE = "failure"
KINDS = (BIND, RESERVE, RELEASE, RESIZE, NOMINATE, EVICT, PHASE, REFUSE, QUEUE, FAILURE)


class Entry(msgspec.Struct):
    """One line: what was decided, about whom, in which turn.  `changed` counts up over all entries."""

    number: int
    kind: str
    turn: int
    at: float
    profile: str
    gang: str = ""  # its id; "" where it is about no gang
    namespace: str = ""
    name: str = ""  # of the gang, or of the queue
    count: int = 1  # members
    members: int = 0  # of the gang in this plan
    nodes: tuple[str, ...] = ()  # some of them
    why: str = ""
    refusal: Refusal | None = None
    times: int = 1
    last: float = 0.0
    last_turn: int = 0
    changed: int = 0


class DecisionLog:
    """The entries, newest last, and why each waiting gang was refused last."""

    def __init__(self, entries: int = ENTRIES, refusals: int = REFUSALS) -> None:
        self._most = entries
        self._most_refusals = refusals
        self._entries: OrderedDict[int, Entry] = OrderedDict()  # by number
        self._refused: OrderedDict[str, Entry] = OrderedDict()  # by gang
        self._moved: OrderedDict[int, None] = OrderedDict()  # entries in the order of their last change
        self._made = 0
        self.version = 0  # moves with every change of any entry

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def since(self, version: int, most: int = ENTRIES) -> list[Entry]:
        """Entries that are new or have changed since, the newest changes first, at most so many."""
        found: list[Entry] = []
        for number in reversed(self._moved):
            entry = self._entries[number]
            if entry.changed <= version or len(found) >= most:
                break
            found.append(entry)
        return found

    def refusal_of(self, gang: str) -> Entry | None:
        """Why a gang was not placed when it was last looked at."""
        return self._refused.get(gang)

    def of_gang(self, gang: str) -> list[Entry]:
        """Everything that is known of a gang, oldest first."""
        return [entry for entry in self if entry.gang == gang]

    def forget(self, gang: str) -> None:
        """A gang is gone: nobody asks why it waits."""
        self._refused.pop(gang, None)

    # --- what is decided -----------------------------------------------------------------------------------------

    def decided(
        self,
        decisions: Iterable[Decision],
        cluster: Cluster,
        *,
        profile: str,
        turn: int,
        now: float,
    ) -> None:
        """Takes in what a step of a turn decided."""
        gangs, tasks = cluster.gangs, cluster.tasks
        step: dict[tuple[str, str], Entry] = {}
        refused: set[str] = set()

        def entry(kind: str, gang: str, node: str = "", why: str = "") -> Entry:
            found = step.get((kind, gang))
            if found is None:
                known = gangs.get(gang)
                found = step[kind, gang] = Entry(0, kind, turn, now, profile, gang, why=why, count=0)
                if known is not None:
                    found.namespace, found.name = known.namespace, known.name
            found.count += 1
            if node and len(found.nodes) < NODES_NAMED and node not in found.nodes:
                found.nodes = (*found.nodes, node)
            return found

        def of_task(kind: str, task: str, node: str = "", why: str = "") -> None:
            known = tasks.get(task)
            entry(kind, known.gang.id if known is not None else "", node, why)

        for decision in decisions:
            match decision:
                case Bind():
                    entry(BIND, decision.gang, decision.node).members = decision.members
                    self._refused.pop(decision.gang, None)
                case Refuse():
                    if decision.gang not in refused:  # of several members of a gang the first one says it
                        refused.add(decision.gang)
                        self._refuse(decision, gangs, profile, turn, now)
                case Reserve():
                    entry(RESERVE, decision.gang, decision.node)
                case Release():
                    entry(RELEASE, decision.gang, why=decision.why)
                case Resize():
                    entry(RESIZE, decision.gang).members = decision.size
                case Nominate():
                    if decision.node:
                        of_task(NOMINATE, decision.task, decision.node)
                case Evict():
                    of_task(EVICT, decision.task, why=decision.why)
                case GangPhase():
                    if decision.phase is Phase.INQUEUE:
                        entry(PHASE, decision.gang, why=decision.phase.name.capitalize())
                case QueueFault():
                    fault = entry(QUEUE, "")
                    fault.name, fault.refusal = decision.queue, decision.refusal
                case Failure():
                    entry(FAILURE, "", why=f"{decision.who}: {decision.error}")
                case TimeOut():
                    entry(RELEASE, decision.gang, why="it was not whole in time")
                case LookAgain() | Ungate() | Journal():
                    pass  # how it was decided, and not what
                case _:
                    assert_never(decision)
        for found in step.values():
            self._add(found)

    def _refuse(self, decision: Refuse, gangs: Mapping[str, Gang], profile: str, turn: int, now: float) -> None:
        last = self._refused.get(decision.gang)
        same = last is not None and last.refusal is not None and last.refusal.shape == decision.refusal.shape
        if last is not None and (same or last.last_turn == turn):
            # What a later action of the same turn found takes the place of what an earlier one did.
            last.times += last.last_turn != turn
            last.refusal, last.last, last.last_turn = decision.refusal, now, turn
            if last.number in self._entries:
                self._touch(last)
                return
            last = msgspec.structs.replace(last, number=0)  # it has left the log; the gang still waits
        else:
            gang = gangs.get(decision.gang)
            last = Entry(0, REFUSE, turn, now, profile, decision.gang, refusal=decision.refusal)
            if gang is not None:
                last.namespace, last.name, last.members = gang.namespace, gang.name, gang.minimum
        self._refused[decision.gang] = last
        if len(self._refused) > self._most_refusals:
            self._refused.popitem(last=False)
        self._add(last)

    def _add(self, entry: Entry) -> None:
        self._made += 1
        entry.number = self._made
        entry.last = max(entry.last, entry.at)
        entry.last_turn = max(entry.last_turn, entry.turn)
        self._entries[entry.number] = entry
        self._touch(entry)
        if len(self._entries) > self._most:
            number, _ = self._entries.popitem(last=False)
            del self._moved[number]

    def _touch(self, entry: Entry) -> None:
        self.version += 1
        entry.changed = self.version
        self._moved[entry.number] = None
        self._moved.move_to_end(entry.number)
