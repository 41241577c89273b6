"""What became of workloads while somebody watched: how long each waited, for what, and where it ran."""

from __future__ import annotations

import msgspec

from podium.cli.progress import Picture, Workload
from podium.dialects.dialect import State

_ENDED = ("Succeeded", "Failed")


class Entry(msgspec.Struct):
    """One workload's part."""

    workload: Workload
    since: float
    started: float | None = None  # when the first of its pods ran
    why: str = ""  # the last reason for which it waited
    nodes: dict[str, None] = {}
    gpus: int = 0  # the most that it held at one time
    taken: int = 0  # pods that it lost and got anew

    @property
    def waited(self) -> float | None:
        return None if self.started is None else self.started - self.since


class Chronicle:
    """Entries by workload, in the order in which they came."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}
        self._seen: dict[str, set[str]] = {}

    def note(self, picture: Picture, now: float) -> None:
        """How things stand now."""
        for workload in picture.workloads:
            entry = self.entries.setdefault(workload.name, Entry(workload, now))
            entry.workload = workload
            own = [row for row in picture.pods if row.workload == workload.name]
            if workload.why and entry.started is None:
                entry.why = workload.why
            held = sum(row.gpus for row in own if row.node and row.phase not in _ENDED)
            entry.gpus = max(entry.gpus, held)
            for row in own:
                if row.node:
                    entry.nodes[row.node] = None
            if entry.started is None and any(row.phase in ("Running", *_ENDED) for row in own):
                entry.started = now
            alive = {row.name for row in own if row.node}
            known = self._seen.get(workload.name, set())
            ended = {row.name for row in own if row.phase in _ENDED}
            if workload.state is State.GOING:  # at its end a workload may clean up after itself
                entry.taken += len(known - alive - ended)
            self._seen[workload.name] = alive - ended
