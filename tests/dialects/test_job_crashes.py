"""Controllers, kubelets and scheduler that end at any moment and start anew: every Job still ends as it should.

A process may end before a write is sent, or after it was carried out and before the answer has come.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from podium.dialects.volcano.job.names import JOBS
from podium.dialects.volcano.names import COMMANDS, PODGROUPS
from podium.kube.changes import Create, request_of
from podium.kube.resources import PODS
from tests.dialects.job_kinds import kinds
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


def order(world: Mortal, name: str, action: str) -> None:
    metadata = {"generateName": f"{name}-"}
    target = {"apiVersion": JOBS.api_version, "kind": "Job", "name": name, "uid": ""}
    document = {"apiVersion": COMMANDS.api_version, "kind": "Command", "metadata": metadata, "action": action}
    world.request(request_of(Create(COMMANDS, "default", document | {"target": target})))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_job_ends_as_it_should(seed: int) -> None:
    world = Mortal(seed)
    jobs = kinds(10)
    for kind in jobs.values():
        world.apply(kind.document)
    while "evicted-w-1" not in world.names(PODS) or world.status("evicted-w-1").get("phase") != "Running":
        world.pass_seconds(1)
    world.pass_seconds(2)
    world.delete("evicted-w-1")
    order(world, "aborted", "AbortJob")
    world.pass_seconds(400)
    assert world.deaths >= 5

    for name, kind in jobs.items():
        status = world.get(JOBS, name)["status"]
        assert status["state"]["phase"] == kind.phase, (name, status)
        assert status.get("retryCount", 0) == kind.retries, (name, status)
    uids = {each["metadata"]["uid"] for each in world.objects(JOBS)}
    for pod in world.objects(PODS):
        assert {owner["uid"] for owner in pod["metadata"]["ownerReferences"]} <= uids
        assert pod["status"]["phase"] in ("Succeeded", "Failed")
    assert world.names(PODGROUPS) == []
    assert world.names(COMMANDS) == []
