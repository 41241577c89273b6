"""What pods cost that no node can ever take, when room comes free for others.  `python -m bench.mismatch`

10,000 pods with a node selector that matches nothing wait in a full cluster, and behind them one that fits.  A pod
ends, and the one that fits takes its place; then the next.  The scheduler's machine is driven by itself, without a
server: its CPU time for each round is measured, and how many gangs it asked in vain.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import msgspec
import yaml
from tests.engine.stage import PROFILE

from bench.report import Figure, Report, publish
from podium.core.profiles.profile import read_profile
from podium.dialects import DIALECTS
from podium.engine.scheduler import Scheduler
from podium.engine.world import World
from podium.kube.changes import Create
from podium.kube.resources import NODES, PODS, Resource
from podium.kube.wire import Object, struct_of

STUCK, WORKERS, ROUNDS = 10_000, 100, 20
PROFILE_NAME = "default-scheduler"

Document = dict[str, Any]


class Machine:
    """The scheduler, and the objects that it is shown."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0
        self.cpu = 0.0
        self.world = World(DIALECTS)
        profile = read_profile(yaml.safe_load(PROFILE))
        self.scheduler = Scheduler(self.world, {PROFILE_NAME: profile}, quiet=True)
        self.bound: list[str] = []
        self._versions = 0
        for resource in self.world.resources:
            self.scheduler.synced(resource)

    def show(self, resource: Resource, document: Document) -> Object:
        self._versions += 1
        metadata = {"uid": document["metadata"]["name"], "resourceVersion": str(self._versions)}
        metadata |= {"creationTimestamp": "2027-01-15T08:00:00Z", **document["metadata"]}
        view = self.world.views.get(resource) or struct_of(resource)
        obj: Object = msgspec.json.decode(msgspec.json.encode({**document, "metadata": metadata}), type=view)
        self.scheduler.observe(resource, obj)
        return obj

    def settle(self, seconds: float) -> None:
        """Everything that is due within a while, with every bind answered."""
        end = self.now + seconds
        while True:
            begin = time.process_time()
            tickets = self.scheduler.run(self.now)
            wake = self.scheduler.next_wake(self.now)
            self.cpu += time.process_time() - begin
            for ticket in tickets:
                change = ticket.change
                if isinstance(change, Create):
                    self.bound.append(change.name)
                    self.show(PODS, pod(change.name, node=change.document["target"]["name"]))
                self.scheduler.done(ticket, None, None, self.now)
            if not tickets and (wake is None or wake > end):
                self.now = end
                return
            self.now = max(self.now, wake or self.now)


def pod(name: str, *, node: str = "", selector: dict[str, str] | None = None) -> Document:
    container = {"name": "main", "resources": {"requests": {"cpu": "4"}}}
    spec: Document = {
        "schedulerName": "default-scheduler",
        "containers": [container],
        "nodeSelector": selector or {},
    }
    status = {"phase": "Running" if node else "Pending"}
    if node:
        spec["nodeName"] = node
    return {"metadata": {"name": name, "namespace": "default"}, "spec": spec, "status": status}


def measure(stuck: int, rounds: int) -> Report:
    machine = Machine()
    room = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    status = {"allocatable": room, "conditions": [{"type": "Ready", "status": "True"}]}
    running = []
    for number in range(WORKERS):
        machine.show(NODES, {"metadata": {"name": f"n{number}"}, "status": status})
        running.append(machine.show(PODS, pod(f"old-{number}", node=f"n{number}")))
    for number in range(stuck):
        machine.show(PODS, pod(f"stuck-{number}", selector={"disk": "none has it"}))
    machine.settle(5.0)
    machine.cpu, refusals = 0.0, sum(machine.scheduler.counters.refusals.values())
    for number in range(rounds):
        machine.show(PODS, pod(f"new-{number}"))
        machine.scheduler.forget(PODS, running[number])
        machine.settle(5.0)
    assert len(machine.bound) == rounds, machine.bound
    asked = sum(machine.scheduler.counters.refusals.values()) - refusals
    figures = [
        Figure("gangs asked in vain", asked / rounds, "a round", 1, at_least=False),
        Figure("CPU", machine.cpu / rounds * 1000, "ms a round"),
    ]
    return Report("mismatch", f"{stuck:,} pods whose node selector matches nothing", figures)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=STUCK)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    report = measure(options.pods, options.rounds)
    publish(report)
    return 0 if report.good else 1


if __name__ == "__main__":
    sys.exit(main())
