"""Controllers, kubelets and scheduler that end at any moment and start anew: every Job still ends as it should.

A process may end before a write is sent, or after it was carried out and before the answer has come.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from podium.dialects.volcano.job_names import JOBS
from podium.dialects.volcano.names import COMMANDS, PODGROUPS
from podium.kube.changes import Create, request_of
from podium.kube.resources import PODS
from tests.dialects.job_stage import job_document, task, template
from tests.dialects.virtual import Virtual

Document = dict[str, Any]

SEEDS = range(20 if os.environ.get("PODIUM_SOAK") else 3)
DEATHS = 20


class Mortal(Virtual):
    """Its controllers die, so many times, at random."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.deaths = 0
        super().__init__(4)

    def turn(self) -> bool:
        busy = self.take_in()
        for ticket in self.manager.run(self.now):
            busy = True
            if self._chance.random() < 0.5 and self._dies():
                return True  # this and the others were never sent
            self.carry_out(ticket)
            if self._dies():
                return True
        wake = self.manager.next_wake(self.now)
        return busy or (wake is not None and wake <= self.now)

    def _dies(self) -> bool:
        if self.deaths >= DEATHS or self._chance.random() > 0.02:
            return False
        self.deaths += 1
        self.restart()
        return True


def running(seconds: int, code: int = 0) -> Document:
    pod = template()
    pod["metadata"] = {"annotations": {"podium.dev/run-seconds": str(seconds), "podium.dev/exit-code": str(code)}}
    return pod


def tasks(name: str, replicas: int, seconds: int, code: int = 0, **more: Any) -> Document:
    return {**task(name, replicas), "template": running(seconds, code), **more}


RESTART = [{"event": "PodFailed", "action": "RestartJob"}]
JOBS_AND_ENDS: dict[str, tuple[Document, str, int]] = {
    "plain": (job_document(tasks("w", 3, 20), name="plain"), "Completed", 0),
    "servers": (
        job_document(
            task("ps"),
            tasks("w", 2, 30, policies=[{"event": "TaskCompleted", "action": "CompleteJob"}]),
            name="servers",
            plugins={"svc": [], "ssh": [], "env": []},
        ),
        "Completed",
        0,
    ),
    "failing": (job_document(tasks("w", 2, 10, 1), name="failing", policies=RESTART, maxRetry=2), "Failed", 2),
    "part": (
        job_document(
            tasks("long", 1, 500),
            tasks("w", 2, 10, 1, policies=[{"event": "PodFailed", "action": "RestartTask"}]),
            name="part",
            maxRetry=2,
        ),
        "Failed",
        2,
    ),
    "evicted": (
        job_document(
            tasks("w", 3, 60), name="evicted", policies=[{"event": "PodEvicted", "action": "RestartJob"}]
        ),
        "Completed",
        1,
    ),
    "chain": (
        job_document(
            tasks("a", 2, 20), tasks("b", 1, 20, dependsOn={"name": ["a"]}), name="chain", minAvailable=2
        ),
        "Completed",
        0,
    ),
    "enough": (job_document(tasks("w", 3, 15), task("never"), name="enough", minSuccess=2), "Completed", 0),
    "aborted": (job_document(task("w", 3), name="aborted"), "Aborted", 0),
}


def order(world: Mortal, name: str, action: str) -> None:
    metadata = {"generateName": f"{name}-"}
    target = {"apiVersion": JOBS.api_version, "kind": "Job", "name": name, "uid": ""}
    document = {"apiVersion": COMMANDS.api_version, "kind": "Command", "metadata": metadata, "action": action}
    world.request(request_of(Create(COMMANDS, "default", document | {"target": target})))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_job_ends_as_it_should(seed: int) -> None:
    world = Mortal(seed)
    for document, _, _ in JOBS_AND_ENDS.values():
        world.apply(document)
    while "evicted-w-1" not in world.names(PODS) or world.status("evicted-w-1").get("phase") != "Running":
        world.pass_seconds(1)
    world.pass_seconds(2)
    world.delete("evicted-w-1")
    order(world, "aborted", "AbortJob")
    world.pass_seconds(400)
    assert world.deaths >= 5

    for name, (_, phase, retries) in JOBS_AND_ENDS.items():
        status = world.get(JOBS, name)["status"]
        assert status["state"]["phase"] == phase, (name, status)
        assert status.get("retryCount", 0) == retries, (name, status)
    uids = {each["metadata"]["uid"] for each in world.objects(JOBS)}
    for pod in world.objects(PODS):
        assert {owner["uid"] for owner in pod["metadata"]["ownerReferences"]} <= uids
        assert pod["status"]["phase"] in ("Succeeded", "Failed")
    assert world.names(PODGROUPS) == []
    assert world.names(COMMANDS) == []
