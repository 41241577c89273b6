"""A gang of Volcano's that comes between the plan for a TrainingJob and its pods, at any moment of that time.

The room is enough for one of the two.  Whoever has been promised it gets it, whole; the other one waits until it
is free, and is not begun before.  With PODIUM_SOAK=1 there are 100 moments of each.
"""

from __future__ import annotations

import os
import random
from typing import Any

import msgspec
import pytest

from podium.dialects.paddle.names import TRAININGJOBS
from podium.dialects.paddle.workloads import training_job
from podium.dialects.volcano.workloads import job as volcano_job
from podium.dialects.workloads import Ask
from podium.embedded.store import Record
from podium.kube.pod_script import WORK_SECONDS
from podium.kube.resources import Resource
from podium.runtime.configuration import embedded_profiles
from podium.sim.histories import population as p
from podium.sim.histories.invariants import Invariants, limits_of
from podium.sim.histories.stage import CONTROLLERS, Stage, Watcher
from podium.sim.histories.wire import Call, Trouble

Document = dict[str, Any]

SEEDS = range(100 if os.environ.get("PODIUM_SOAK") else 4)
GANG = 4
LONGEST = 1.5  # seconds from a plan to the last of its pods, with the slow controllers of these histories


class Slow(Trouble):
    """Controllers whose writes take a while: so there is time between a plan and its pods."""

    def delay(self, call: Call) -> float:
        return 0.2 if call.process == CONTROLLERS else 0.0


class Planned(Watcher):
    """Sends the gang so many seconds after the job is asked to have a number of trainers."""

    def __init__(self, stage: Stage, wanted: int, delay: float, gang: Document) -> None:
        self._stage, self._wanted, self._delay, self._gang = stage, wanted, delay, gang
        self.at = 0.0

    def written(self, resource: Resource, record: Record, gone: bool) -> None:
        if resource.plural != TRAININGJOBS.plural or self.at:
            return
        status = msgspec.json.decode(record.data).get("status", {})
        if status.get("wanted", 0) >= self._wanted:
            self.at = self._stage.elapsed + self._delay
            self._stage.after(self._delay, lambda: self._stage.apply(self._gang))


def _on_nodes(stage: Stage, prefix: str) -> int:
    return sum(
        name.startswith(prefix) and bool(pod.spec.node_name) and pod.status.phase in ("Pending", "Running")
        for (_, name), pod in stage.pods.items()
    )


class Town:
    """Two nodes, a TrainingJob, and the gang that comes to it."""

    def __init__(self, seed: int, trainers: tuple[int, int], wanted: int) -> None:
        """There is room for six pods: the most trainers, a pserver and the master, or the gang of four."""
        dice = random.Random(seed)
        self.stage = stage = Stage(seed, embedded_profiles())
        rules = Invariants(stage)
        stage.watchers.append(rules)
        stage.wire.troubles.append(Slow())
        stage.apply(*p.surroundings(), p.node("n1", 1, cpu=4), p.node("n2", 2, cpu=2))
        rules.limit(limits_of(stage))
        stage.start_controllers()
        stage.start_scheduler()
        gang = volcano_job("gang", {"worker": GANG}, Ask(seconds=20.0, scheduler="volcano"))
        self.planned = Planned(stage, wanted, dice.uniform(0.0, LONGEST), gang)
        one = {"resources": {"requests": {"cpu": "1"}}}
        job = training_job(
            "job", trainers, annotations={WORK_SECONDS: str(20 * trainers[1])}, freezingWindow=0,
            pserver={"min-instance": 1, **one}, master=one,
        )  # fmt: skip
        if wanted:
            stage.watchers.append(self.planned)
        else:
            stage.at(5.0 + dice.uniform(-1.0, LONGEST), lambda: stage.apply(gang))
        stage.at(5.0, lambda: stage.apply(job))

    def later(self, seconds: float) -> tuple[int, int]:
        """How many pods of each are on nodes."""
        self.stage.run(seconds)
        return self._on_nodes("job-"), self._on_nodes("gang-")

    def _on_nodes(self, prefix: str) -> int:
        return sum(
            name.startswith(prefix) and bool(pod.spec.node_name) and pod.status.phase in ("Pending", "Running")
            for (_, name), pod in self.stage.pods.items()
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_a_gang_that_comes_while_a_job_starts(seed: int) -> None:
    town = Town(seed, (4, 4), wanted=4)
    assert town.later(20.0) == (6, 0)
    assert town.planned.at, "it has come"
    assert town.later(40.0) == (0, 4)
    assert town.later(70.0) == (0, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_gang_that_comes_while_a_job_grows(seed: int) -> None:
    town = Town(seed, (1, 4), wanted=4)
    assert town.later(20.0) == (6, 0)
    assert town.planned.at, "it has come"
    assert town.later(40.0) == (0, 4)
    assert town.later(70.0) == (0, 0)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_gang_that_comes_at_any_moment_around_a_plan(seed: int) -> None:
    """Either of them comes first: the other one is not begun."""
    town = Town(seed, (4, 4), wanted=0)
    assert (first := town.later(20.0)) in ((6, 0), (0, 4))
    assert town.later(40.0) == ((0, 4) if first == (6, 0) else (6, 0))
    assert town.later(70.0) == (0, 0)
