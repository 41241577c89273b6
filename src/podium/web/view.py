"""The view: follows a scheduler's model, and says what has changed in it as small documents.

It reads the model between two portions of the scheduler's work and never keeps it waiting: `refresh` goes in steps
of at most `PORTION` rows, and whoever takes the steps pauses in between.  Only what has changed is read: rows of
nodes by their versions, gangs by the cluster's list of changed ones, decisions by the log's version.

Jobs are followed all the time, because the timeline needs them; nodes only while somebody looks.  A document is a
list of rows that replace those with the same id, so it does no harm to be given one twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.core.framework.plugin import Plugin
from podium.core.model.model import Gang
from podium.engine.decision_log import REFUSE, Entry
from podium.engine.last_refusal import last_refusal
from podium.engine.scheduler import Scheduler
from podium.refusal import Refusal
from podium.web import history, job_rows, journal, node_rows, queue_rows
from podium.web.amounts import Columns
from podium.web.history import History
from podium.web.job_rows import JobRows
from podium.web.node_rows import NodeRows
from podium.web.queue_rows import QueueRows

PORTION = 200  # rows in one step
JOURNAL = 1000  # entries that a page is given when it opens
_QUEUE_SECONDS = 1.0
_EQUALS = 500  # gangs that a refusal is looked up for anew
_SAMPLE_SECONDS = 1.0

Row = list[Any]
Document = dict[str, Any]  # with its kind under `is`


class View:
    """What pages know of one scheduler."""

    def __init__(self, scheduler: Scheduler, plugins: Callable[[], Iterable[Plugin]], past: History) -> None:
        """`plugins` are those of the last turns; `past` goes on from one scheduler to the next."""
        self.scheduler = scheduler
        self.history = past
        self._plugins = plugins
        self._cluster = cluster = scheduler.world.cluster
        self._log = scheduler.decision_log
        self.columns = Columns(cluster.dimensions)
        self._job_rows = JobRows(scheduler, self.columns)
        self._node_rows = NodeRows(cluster, self.columns, self._job_rows.id_of)
        self._queue_rows = QueueRows(cluster, self.columns)
        self._changed = cluster.changes.follow()
        self.jobs: dict[str, Row] = {}  # by gang
        self.nodes: dict[int, Row] = {}
        self.queues: list[Row] = []
        self._states: Counter[tuple[str, str]] = Counter()  # jobs by queue and state
        self._without_pods: dict[str, tuple[float, float]] = {}  # what such jobs of a queue wait for
        self._seen: NDArray[np.int64] = np.zeros(0, dtype=np.int64)  # the versions of node rows
        self._heard = 0  # the version of the log
        self._queues_at = self._sampled_at = 0.0
        self._first = True

    def gang_of(self, number: int) -> str:
        """The gang's id by the short number that pages know it by; "" if there is none."""
        return self._job_rows.gangs.get(number, "")

    def number_of(self, gang: str) -> int:
        return self._job_rows.id_of(gang)

    def refusal_of(self, gang: Gang) -> Refusal | None:
        """Why a gang, or a member of it, waits."""
        return last_refusal(self.scheduler.world, self._log, gang)

    # --- what has changed ----------------------------------------------------------------------------------------

    def refresh(self, now: float, *, watched: bool) -> Iterator[list[Document]]:
        """What is new since the last time, step by step.  `watched`: somebody looks."""
        self.columns.refresh()
        while self.scheduler.take_in_changes(PORTION):
            yield []
        entries = self._log.since(self._heard)
        self._heard = self._log.version
        changed = self._changed.take()
        if self._first:
            self._first = False
            changed = list(self._cluster.all_gangs)
        known = self._cluster.gangs
        again = (id for each in entries if each.kind == REFUSE for id in self._refused_with(each))
        refused = [known[id] for id in again if id in known]
        if watched:
            yield from self._entry_portions(entries)
        yield from self._refresh_jobs([*dict.fromkeys([*changed, *refused])], now)
        if watched:
            yield from self.refresh_nodes()
        if watched and now >= self._queues_at + _QUEUE_SECONDS:
            self._queues_at = now
            queues = self._queue_rows.rows(self._plugins(), self._states, self._without_pods)
            if queues != self.queues:
                self.queues = queues
                yield [{"is": "queues", "rows": queues}]
        if now >= self._sampled_at + _SAMPLE_SECONDS:
            self._sampled_at = now
            waiting, running = self._count(job_rows.WAITING, job_rows.HOLDING), self._count(job_rows.RUNNING)
            new = self.history.sample(self._cluster, self.columns, waiting, running, now)
            yield [{"is": "samples", "rows": new}] if new else []

    def _refused_with(self, entry: Entry) -> Iterable[str]:
        """The gang that was refused, and some that wait for the same: a new refusal answers for them, too."""
        yield entry.gang
        if entry.times == 1:
            yield from islice(self._cluster.accounts.equals_of(entry.gang), _EQUALS)

    def _refresh_jobs(self, changed: list[Gang], now: float) -> Iterator[list[Document]]:
        for first in range(0, len(changed), PORTION):
            rows, gone = [], []
            for gang in changed[first : first + PORTION]:
                before = self.jobs.get(gang.id)
                known = self._cluster.find_gang(gang.id)
                if known is not gang:
                    if before is not None and known is None:
                        gone.append(self._remove(gang.id, before, now))
                    continue
                row = self._job_rows.row(gang, before, now)
                if row != before:
                    self.jobs[gang.id] = row
                    self._recount(before, row)
                    rows.append(row)
            documents: list[Document] = []
            if rows:
                documents.append({"is": "jobs", "rows": rows})
            if gone:
                documents.append({"is": "gone", "rows": gone})
            yield documents

    def _remove(self, gang: str, row: Row, now: float) -> Row:
        del self.jobs[gang]
        self._recount(row, None)
        self._job_rows.forget(gang)
        if not row[job_rows.ENDED_AT]:
            row = [*row]
            row[job_rows.ENDED_AT] = round(now, 1)
        self.history.gone.append(row)
        return row

    def _recount(self, before: Row | None, after: Row | None) -> None:
        for row, sign in ((before, -1), (after, 1)):
            if row is not None:
                key = row[job_rows.QUEUE], row[job_rows.STATE]
                self._states[key] += sign
                if not self._states[key]:
                    del self._states[key]
                if not row[job_rows.MEMBERS]:
                    gpus, cores = self._without_pods.get(key[0], (0.0, 0.0))
                    asked = gpus + sign * row[job_rows.GPUS], cores + sign * row[job_rows.CORES]
                    self._without_pods[key[0]] = round(asked[0], 3), round(asked[1], 3)

    def _count(self, *states: str) -> int:
        return sum(count for (_, state), count in self._states.items() if state in states)

    def refresh_nodes(self) -> Iterator[list[Document]]:
        """Nodes are followed while somebody looks: for the first one they are all new."""
        nodes = self._cluster.nodes
        versions = nodes.row_versions[: nodes.count]
        seen = np.full(nodes.count, -1, dtype=np.int64)
        seen[: len(self._seen)] = self._seen[: nodes.count]
        stale = np.flatnonzero(versions != seen).tolist()
        self._seen = versions.copy()
        for first in range(0, len(stale), PORTION):
            rows, gone = [], []
            for number in stale[first : first + PORTION]:
                row = self._node_rows.row(number)
                if row is None:
                    if self.nodes.pop(number, None) is not None:
                        gone.append(number)
                elif row != self.nodes.get(number):
                    self.nodes[number] = row
                    rows.append(row)
            yield [{"is": "nodes", "rows": rows, "gone": gone}] if rows or gone else []

    def _entry_portions(self, entries: list[Entry]) -> Iterator[list[Document]]:
        """Newest changes come first in the log; pages take them in in order."""
        entries = sorted(entries, key=lambda each: each.number)
        for first in range(0, len(entries), PORTION):
            yield [self._entries(entries[first : first + PORTION])]

    def _entries(self, entries: list[Entry]) -> Document:
        rows = [journal.row(each, self._job_rows.id_of(each.gang) if each.gang else 0) for each in entries]
        rows.sort()
        return {"is": "journal", "rows": rows, "whys": self._whys(entries)}

    def _whys(self, entries: Iterable[Entry]) -> dict[str, list[str]]:
        return {str(each.number): journal.why(each) for each in entries if each.refusal is not None}

    # --- everything ----------------------------------------------------------------------------------------------

    def snapshot(self, now: float) -> Iterator[list[Document]]:
        """Everything that a page needs when it opens, what it shows first at first."""
        yield [self.hello(now)]
        yield from self._portions("nodes", list(self.nodes.values()))
        yield [{"is": "queues", "rows": self.queues}]
        yield [
            {"is": "samples", "rows": list(self.history.hour.samples)},
            {"is": "days", "rows": list(self.history.day.samples)},
        ]
        yield from self._journal_portions()
        yield from self._portions("jobs", list(self.jobs.values()))
        yield from self._portions("gone", list(self.history.gone))
        yield [{"is": "ready"}]

    def hello(self, now: float) -> Document:
        """With it a page begins anew."""
        return {
            "is": "hello",
            "now": now,
            "fields": {
                "jobs": job_rows.FIELDS,
                "nodes": node_rows.FIELDS,
                "queues": queue_rows.FIELDS,
                "journal": journal.FIELDS,
                "samples": history.FIELDS,
            },
            "profiles": sorted(self.scheduler.profiles),
            "counts": {"nodes": len(self._cluster.nodes), "pods": len(self._cluster.tasks)},
        }

    def _portions(self, kind: str, rows: list[Row]) -> Iterator[list[Document]]:
        for first in range(0, len(rows), PORTION):
            yield [{"is": kind, "rows": rows[first : first + PORTION]}]

    def _journal_portions(self) -> Iterator[list[Document]]:
        """The newest entries, and the refusals of those that wait, however old."""
        newest = self._log.since(0, JOURNAL)
        for first in range(0, len(newest), PORTION):
            yield [self._entries(newest[first : first + PORTION])]
        listed = {entry.number for entry in newest}
        named = {why for row in self.jobs.values() if isinstance(why := row[job_rows.WHY], int)}
        self._job_rows.keep_refusals(named)
        older = [entry for number, entry in self._job_rows.refusals.items() if number not in listed]
        for first in range(0, len(older), PORTION):
            yield [{"is": "whys", "whys": self._whys(older[first : first + PORTION])}]
