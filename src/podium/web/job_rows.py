"""Gangs as rows of the dashboard: who a job is, how far it has come, and why it waits.

A row is small and whole: a page that has it needs nothing else to show the job in a list, on the map and in the
timeline.  The reason for which a job waits is a number: that of the entry in the decision log.  Jobs that wait for
the same share one refusal, and when its numbers move it is sent once and not with every row.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from podium.core.model.model import Gang, State, Task
from podium.engine.decision_log import Entry
from podium.engine.last_refusal import last_entry, own_fault
from podium.engine.scheduler import Scheduler
from podium.engine.world import World
from podium.web.amounts import Columns

# What a job can be doing, as pages call it.
WAITING, HOLDING, STARTING, RUNNING, LEAVING, DONE, FAILED = (
    "waiting", "holding", "starting", "running", "leaving", "done", "failed",
)  # fmt: skip
ENDED = (DONE, FAILED)

# The fields of a row, in their order: pages are told them.
FIELDS = (
    "id", "name", "namespace", "kind", "queue", "profile", "state", "running", "placed", "members", "minimum",
    "gpus", "cores", "priority", "created", "started", "ended", "why", "where",
)  # fmt: skip
ID, QUEUE, STATE, MEMBERS, GPUS, CORES, STARTED, ENDED_AT, WHY = 0, 4, 6, 9, 11, 12, 15, 16, 17

_MEMBERS = 200  # that are asked where they are
_NODES = 2  # that are named

Row = list[Any]


class JobRows:
    """Makes rows, and remembers who is who."""

    def __init__(self, scheduler: Scheduler, columns: Columns) -> None:
        self._world: World = scheduler.world
        self._log = scheduler.decision_log
        self._columns = columns
        self.refusals: dict[int, Entry] = {}  # that rows name, by number
        self.gangs: dict[int, str] = {}  # by their short numbers
        self._ids: dict[str, int] = {}  # the short numbers of gangs
        self._next = 1
        self._names: dict[str, tuple[str, str]] = {}  # name and kind by gang

    def id_of(self, gang: str) -> int:
        """A short number for a gang, the same as long as it lives."""
        found = self._ids.get(gang)
        if found is None:
            found = self._ids[gang] = self._next
            self.gangs[found] = gang
            self._next += 1
        return found

    def forget(self, gang: str) -> None:
        self.gangs.pop(self._ids.pop(gang, 0), None)
        self._names.pop(gang, None)

    def row(self, gang: Gang, before: Row | None, now: float) -> Row:
        counts = gang.counts
        placed = counts[State.ALLOCATED] + counts[State.BINDING] + counts[State.BOUND] + counts[State.RUNNING]
        state = state_of(gang)
        started = before[STARTED] if before is not None else 0
        if not started and (state == RUNNING or state in ENDED):
            started = round(_began(gang) or now, 1)
        ended = before[ENDED_AT] if before is not None and before[STATE] in ENDED else 0
        if state in ENDED:
            ended = ended or round(now, 1)
        else:
            ended = 0
        name, kind = self._named(gang)
        account = self._world.cluster.accounts.gangs.get(gang.id)
        held = self._columns.shown(account.allocated) if account is not None else {}
        waits = self._columns.shown(account.waiting) if account is not None else {}
        if state in ENDED and before is not None:
            gpus, cores = before[GPUS], before[CORES]  # what it had when it ran
        elif not gang.tasks and gang.minimum_resources:
            least = self._columns.shown(self._columns.by_name(gang.minimum_resources))
            gpus, cores = least["gpu"], least["cpu"]  # its pods are made when it is let in
        else:
            gpus = round(held.get("gpu", 0) + waits.get("gpu", 0), 3)
            cores = round(held.get("cpu", 0) + waits.get("cpu", 0), 3)
        return [
            self.id_of(gang.id), name, gang.namespace, kind, gang.queue, gang.profile, state,
            counts[State.RUNNING], placed + counts[State.SUCCEEDED], len(gang.tasks), gang.minimum,
            gpus, cores, gang.priority, round(gang.created, 1), started, ended, self._why(gang), self._where(gang),
        ]  # fmt: skip

    def _named(self, gang: Gang) -> tuple[str, str]:
        """What users call it: the job that owns the group or the pod, else the group or the pod itself."""
        found = self._names.get(gang.id)
        if found is not None:
            return found
        group = self._world.group_of(gang)
        if group is not None:
            resource, _, obj = group
            owner = obj.metadata.controller
            found = (owner.name, owner.kind) if owner is not None else (obj.name, resource.kind)
        else:
            if not gang.id.startswith("pod/"):
                # Its group is not there, or not any more: then its id is all that its members say of it.
                return gang.name.rpartition("/")[2] if gang.name == gang.id else gang.name, "group missing"
            found = gang.name, "Pod"
        self._names[gang.id] = found
        return found

    def _where(self, gang: Gang) -> list[Any]:
        """Some of its nodes, and how many others there are among its first members."""
        rows = dict.fromkeys(task.row for task in islice(gang.tasks.values(), _MEMBERS) if task.row >= 0)
        name = self._world.cluster.nodes.name
        return [[name(row) for row in islice(rows, _NODES)], max(0, len(rows) - _NODES)]

    def _why(self, gang: Gang) -> int | str | None:
        """The number of the log's entry, or a sentence of the gang's own; None where nothing waits."""
        if not gang.counts[State.PENDING] and gang.tasks:
            return None
        own = own_fault(self._world, gang)
        if own is not None:
            return str(own)
        entry = last_entry(self._world, self._log, gang)
        return self._refused(entry) if entry is not None else None

    def _refused(self, entry: Entry) -> int:
        self.refusals[entry.number] = entry
        return entry.number

    def keep_refusals(self, named: set[int]) -> None:
        """Forgets the refusals that no row names."""
        self.refusals = {number: entry for number, entry in self.refusals.items() if number in named}


def state_of(gang: Gang) -> str:
    counts = gang.counts
    if counts[State.RUNNING]:
        return RUNNING
    if counts[State.ALLOCATED] + counts[State.BINDING] + counts[State.BOUND]:
        return STARTING
    if counts[State.RELEASING] + counts[State.UNKNOWN]:
        return LEAVING
    if counts[State.RESERVED]:
        return HOLDING
    if gang.tasks and counts[State.SUCCEEDED] + counts[State.FAILED] == len(gang.tasks):
        return FAILED if counts[State.FAILED] else DONE
    return WAITING


def _began(gang: Gang) -> float:
    return min((task.started for task in gang.tasks.values() if _has_begun(task)), default=0.0)


def _has_begun(task: Task) -> bool:
    return task.state in (State.RUNNING, State.SUCCEEDED, State.FAILED)
