"""What has been, within bounds: how full the cluster was, and the jobs that are gone.

Two rings of samples: the last hour closely, the last day coarsely.  A sample of the coarse ring is the mean of
those that fall into its stretch of time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from podium.core.cluster.cluster import Cluster
from podium.core.model.resources import CPU, MEMORY
from podium.web.amounts import Columns
from podium.web.job_rows import Row

# A sample: when, per cent of accelerators, cores and memory that are given out, jobs that wait and that run.
FIELDS = ("at", "gpu", "cpu", "memory", "waiting", "running")
POINTS = 720
GONE = 1000  # jobs that are remembered

Sample = list[float | None]


class Ring:
    """Samples a fixed time apart, the newest last."""

    def __init__(self, seconds: float, points: int = POINTS) -> None:
        self.seconds = seconds
        self.samples: deque[Sample] = deque(maxlen=points)
        self._stretch: list[Sample] = []
        self._until = 0.0

    def add(self, sample: Sample) -> Sample | None:
        """Takes a sample in; gives the one that is new in the ring, if its stretch of time is over."""
        at = sample[0] or 0.0
        done = self._mean() if self._stretch and at >= self._until else None
        if done is not None:
            self.samples.append(done)
            self._stretch = []
        if not self._stretch:
            self._until = at - at % self.seconds + self.seconds
        self._stretch.append(sample)
        return done

    def _mean(self) -> Sample:
        def mean(values: Sequence[float | None]) -> float | None:
            known = [value for value in values if value is not None]
            return round(sum(known) / len(known), 2) if known else None

        columns = list(zip(*self._stretch, strict=True))
        return [self._until - self.seconds, *(mean(column) for column in columns[1:])]


class History:
    """The rings, and the jobs that are gone."""

    def __init__(self) -> None:
        self.hour = Ring(5.0)
        self.day = Ring(120.0)
        self.gone: deque[Row] = deque(maxlen=GONE)

    def sample(self, cluster: Cluster, columns: Columns, waiting: int, running: int, now: float) -> list[Sample]:
        """Looks at the cluster now; gives what is new in the ring of the last hour."""
        sample: Sample = [now, *_given_out(cluster, columns), float(waiting), float(running)]
        self.day.add(sample)
        new = self.hour.add(sample)
        return [new] if new is not None else []


def _given_out(cluster: Cluster, columns: Columns) -> tuple[float | None, float | None, float | None]:
    nodes = cluster.nodes
    live = nodes.live[: nodes.count]

    def share(chosen: dict[int, float]) -> float | None:
        has = used = 0.0
        for column, unit in chosen.items():
            if column < nodes.allocatable.shape[1]:
                has += unit * float(nodes.allocatable[: nodes.count, column][live].sum())
                used += unit * float(nodes.used[: nodes.count, column][live].sum())
        return round(min(100.0, 100 * used / has), 2) if has else None

    return share(columns.accelerators), share({CPU: 1.0}), share({MEMORY: 1.0})
