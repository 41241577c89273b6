"""TYJobs under faults: a kill at every write, and a race for the last GPUs."""

from __future__ import annotations

import os
import random
from functools import partial
from typing import Any

import pytest

from podium.dialects.arranger.names import TYJOBS
from podium.dialects.arranger.types import TYJob
from podium.dialects.volcano.workloads import job as volcano_job
from podium.dialects.workloads import Ask
from podium.embedded.store import Record
from podium.kube.resources import Resource
from podium.runtime.configuration import embedded_profiles
from podium.sim.histories import population
from podium.sim.histories.faults.crashes import Killing
from podium.sim.histories.invariants import Invariants
from podium.sim.histories.stage import CONTROLLERS, SCHEDULER, Stage, Violation, Watcher
from tests.dialects.arranger_stage import job, places, policy, template

Document = dict[str, Any]

SOAK = bool(os.environ.get("PODIUM_SOAK"))


# --- killed at every write ---------------------------------------------------------------------------------------


class KeptPlaces(Watcher):
    """What was written once as a place stays so, where no node is lost."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._known: dict[str, str] = {}

    def written(self, resource: Resource, record: Record, gone: bool) -> None:
        if resource.group_resource != TYJOBS.group_resource or gone:
            return
        view = self._stage.server.decode(TYJOBS, record.data)
        assert isinstance(view, TYJob)
        found = places(view)
        if not self._known.items() <= found.items():
            raise Violation("places", f"{self._known} became {found}", self._stage.elapsed)
        self._known = found


def _node(name: str, gpus: int) -> Document:
    room = {"cpu": "16", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": str(gpus)}
    status = {"capacity": room, "allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def _killed(victim: str, number: int, after: bool) -> tuple[TYJob, list[str], bool]:
    """A job whose scheduler or controller is killed at one write: how it stands a minute later."""
    stage = Stage(number, embedded_profiles())
    rules = Invariants(stage)
    stage.watchers += [rules, KeptPlaces(stage)]
    stage.apply(*population.surroundings(), _node("n1", 2), _node("n2", 2))
    struck: list[str] = []

    def strike(who: str) -> None:
        struck.append(who)
        stage.kill(who)
        stage.after(1.0, partial(stage.restart, who))

    killing = Killing(strike)
    killing.aim(victim, number, after=after)
    stage.wire.troubles.append(killing)
    stage.start_controllers()
    stage.start_scheduler()
    document = job(leader=template(1, 1, 1), workers={"a": (2, template()), "b": (1, template())}, minWorkersNum=3)
    stage.at(2.0, lambda: stage.apply(document))
    stage.run(60.0)
    view = stage.server.find(TYJOBS, "default", "j")
    assert isinstance(view, TYJob)
    return view, sorted(pod.name for pod in stage.pods.values() if pod.status.phase == "Running"), bool(struck)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("victim", [SCHEDULER, CONTROLLERS])
def test_a_kill_at_any_write_costs_a_pause(victim: str) -> None:
    """Before the server sees it, or after: the job runs, with the places that it got, and each pod once."""
    number, killed = 0, 0
    while True:
        number += 1
        alive = []
        for after in (False, True):
            view, pods, struck = _killed(victim, number, after)
            alive.append(struck)
            assert view.stage == "Running", (victim, number, after, view.status)
            assert pods == ["j-a-0", "j-a-1", "j-b-0", "j-leader"], (victim, number, after)
            assert view.status.restarts == 0, (victim, number, after)
        killed += sum(alive)
        if not any(alive):
            break
    assert killed >= 12, "it was killed at every write that there is"


# --- the last GPUs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tens", range(10))
def test_two_apis_and_the_last_gpus(tens: int) -> None:
    """A TYJob and a Volcano Job each want the eight that are left: one gets all of them, and the other none."""
    for seed in range(10 * tens, 10 * tens + 10):
        rng = random.Random(seed)
        stage = Stage(seed, embedded_profiles())
        rules = Invariants(stage)
        stage.watchers.append(rules)
        stage.apply(*population.surroundings(), _node("n1", 4), _node("n2", 4))
        stage.start_controllers()
        stage.start_scheduler()
        one = template(1, 1, 2)
        mine = job(leader=one, workers={"w": (3, one)}, minWorkersNum=1, schedulerPolicy=policy("Gang"))
        theirs = volcano_job("v", {"worker": 8}, Ask(gpus=1, seconds=None, scheduler="volcano"))
        for document in (mine, theirs):
            stage.at(20.0 + rng.uniform(0, 0.5), partial(stage.apply, document))
        stage.run(90.0)
        rules.at_rest()
        bound = [pod.name for pod in stage.pods.values() if pod.spec.node_name]
        ours, others = (sum(name.startswith(prefix) for name in bound) for prefix in ("j-", "v-"))
        assert (ours, others) in ((4, 0), (0, 8)), (seed, bound)
        view = stage.server.find(TYJOBS, "default", "j")
        assert isinstance(view, TYJob)
        assert len(places(view)) == ours
